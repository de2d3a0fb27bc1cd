import { call, got, type Platform } from './paced-fetch.ts';
import {
  type Audience,
  Immovable,
  type Loose,
  listOf,
  looseOf,
  type OldAsset,
  type OldStream,
  type OldWebhook,
  type Origin,
  textOf,
  textsOf,
} from './source.ts';

const pageSize = 100;
/** More are a server that sends the same page for ever. */
const mostPages = 100_000;

/** Assets, streams and webhooks of a Livepeer Studio account, by `https://livepeer.studio/api`. */
export function livepeer({ platform }: { platform: Platform }): Origin {
  return {
    id: 'livepeer',
    async *assets() {
      for await (const asset of rowsOf(platform, '/asset')) yield assetOf(asset);
    },
    async *streams() {
      for await (const stream of rowsOf(platform, '/stream?streamsonly=1'))
        if (stream.parentId === undefined) yield streamOf(stream);
    },
    async *webhooks() {
      for await (const webhook of rowsOf(platform, '/webhook')) yield webhookOf(webhook);
    },
    film: (asset) => filmOf(asset.id, platform),
  };
}

/** The header `Link` names the cursor of the next page. */
async function* rowsOf(platform: Platform, path: string): AsyncGenerator<Loose> {
  let cursor: string | undefined;
  for (let page = 0; page < mostPages; page += 1) {
    const query = new URLSearchParams({ limit: String(pageSize), ...(cursor !== undefined && { cursor }) });
    const { body, headers } = await got(platform, `${path}${path.includes('?') ? '&' : '?'}${query}`);
    const rows = listOf(body);
    yield* rows;
    const [, next] = /<([^>]*)>\s*;\s*rel="?next"?/.exec(headers.get('link') ?? '') ?? [];
    const following =
      next === undefined ? undefined : new URL(next, platform.base).searchParams.get('cursor');
    if (!following || following === cursor || rows.length === 0) return;
    cursor = following;
  }
}

function assetOf(asset: Loose): OldAsset {
  const id = textOf(asset.id) ?? '';
  return {
    id,
    names: textsOf([id, asset.playbackId]),
    name: textOf(asset.name) ?? id,
    ...audienceAndNotes(asset),
    ...problemOf(asset),
  };
}

function problemOf({ status: given, downloadUrl }: Loose): { problem?: string } {
  const { phase, errorMessage } = looseOf(given);
  if (phase === 'failed') {
    const said = textOf(errorMessage);
    return { problem: `it failed on Livepeer${said === undefined ? '' : `: ${said}`}` };
  }
  if (phase === 'deleting' || phase === 'deleted') return { problem: 'it was deleted on Livepeer' };
  if (phase !== 'ready') return { problem: 'it is not ready on Livepeer yet; run the command again later' };
  if (textOf(downloadUrl) === undefined) return { problem: 'Livepeer has no file of it to download' };
  return {};
}

function streamOf(stream: Loose): OldStream {
  const id = textOf(stream.id) ?? '';
  const streamKey = textOf(stream.streamKey);
  const targets = listOf(looseOf(stream.multistream).targets).length;
  const { audience, notes } = audienceAndNotes(stream);
  return {
    id,
    names: textsOf([id, stream.playbackId]),
    name: textOf(stream.name) ?? id,
    audience,
    ...(streamKey !== undefined && { streamKey }),
    record: stream.record === true,
    suspended: stream.suspended === true,
    notes: [
      ...notes,
      ...(streamKey === undefined ? ['Livepeer shows no stream key: it has a new one'] : []),
      ...(targets > 0
        ? [`${targets} multistream targets are not moved: Livepeer does not show their URLs`]
        : []),
      ...(stream.pull ? ['Millrace does not pull streams: send it by RTMP'] : []),
    ],
  };
}

/** Livepeer has webhooks to ask, and tokens of its own: neither can be moved, so both are closed. */
function audienceAndNotes({ playbackPolicy }: Loose): { audience: Audience; notes: readonly string[] } {
  const { type = 'public', allowedOrigins } = looseOf(playbackPolicy);
  const origins = textsOf(Array.isArray(allowedOrigins) ? allowedOrigins : []).filter((one) => one !== '*');
  if (type === 'public')
    return {
      audience: { type: 'public', ...(origins.length > 0 && { allowedOrigins: origins }) },
      notes: [],
    };
  const note = `its policy was \`${String(type).slice(0, 40)}\`: it is \`signed\` now, and viewers need tokens of a signing key of the new server`;
  return { audience: { type: 'closed' }, notes: [note] };
}

function webhookOf(webhook: Loose): OldWebhook {
  const id = textOf(webhook.id) ?? '';
  const url = textOf(webhook.url) ?? '';
  const streamId = textOf(webhook.streamId);
  return {
    ...{ id, url, name: textOf(webhook.name) ?? url },
    events: textsOf(Array.isArray(webhook.events) ? webhook.events : []),
    ...(streamId !== undefined && { streamId }),
    notes: ['Livepeer does not show its secret: it has none until you set one'],
  };
}

async function filmOf(id: string, platform: Platform): Promise<string> {
  const { status, body } = await call(platform, { path: `/asset/${encodeURIComponent(id)}` });
  if (status === 404) throw new Immovable('it was deleted on Livepeer');
  if (status !== 200) throw new Error(`Livepeer answered ${status} for the asset`);
  const asset = looseOf(body);
  const { problem } = problemOf(asset);
  if (problem !== undefined) throw new Immovable(problem);
  return textOf(asset.downloadUrl) as string;
}
