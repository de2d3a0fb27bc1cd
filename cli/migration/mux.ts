import { setTimeout as sleep } from 'node:timers/promises';
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
/** Between two looks at a master file that is being made, ms: longer each time. */
const looks = { first: 250, longest: 5000 };

export interface MuxOptions {
  readonly platform: Platform;
  /** Where its films are played: `https://stream.mux.com`. */
  readonly streamUrl: string;
  /** How long a master file may take to be made, ms. */
  readonly masterTime: number;
  readonly signal: AbortSignal;
}

/** Assets, live streams and webhooks of a Mux environment, by `https://api.mux.com/video/v1` and `/system/v1`. */
export function mux(options: MuxOptions): Origin {
  const { platform } = options;
  return {
    id: 'mux',
    async *assets() {
      for await (const asset of byCursor(platform, '/video/v1/assets')) yield assetOf(asset);
    },
    async *streams() {
      for await (const stream of byPage(platform, '/video/v1/live-streams')) yield streamOf(stream);
    },
    async *webhooks() {
      for await (const webhook of byPage(platform, '/system/v1/webhooks')) yield webhookOf(webhook);
    },
    film: (asset) => filmOf(asset.id, options),
  };
}

/** Assets: each page names the next one. */
async function* byCursor(platform: Platform, path: string): AsyncGenerator<Loose> {
  let cursor: string | undefined;
  for (let page = 0; page < mostPages; page += 1) {
    const query = new URLSearchParams({ limit: String(pageSize), ...(cursor !== undefined && { cursor }) });
    const body = looseOf((await got(platform, `${path}?${query}`)).body);
    const rows = listOf(body.data);
    yield* rows;
    cursor = textOf(body.next_cursor);
    if (cursor === undefined || rows.length === 0) return;
  }
}

/** Other lists: numbered pages, until an empty one. */
async function* byPage(platform: Platform, path: string): AsyncGenerator<Loose> {
  for (let page = 1; page <= mostPages; page += 1) {
    const body = looseOf((await got(platform, `${path}?limit=${pageSize}&page=${page}`)).body);
    const rows = listOf(body.data);
    yield* rows;
    if (rows.length === 0) return;
  }
}

function assetOf(asset: Loose): OldAsset {
  const id = textOf(asset.id) ?? '';
  const { title } = looseOf(asset.meta);
  const texts = listOf(asset.tracks).filter(({ type }) => type === 'text');
  const isSigned = audienceOf(asset).type === 'closed';
  return {
    id,
    names: namesOf(asset),
    name: textOf(title) ?? textOf(asset.passthrough) ?? id,
    audience: audienceOf(asset),
    ...problemOf(asset),
    notes: [...(texts.length > 0 ? ['text tracks are not moved'] : []), ...(isSigned ? [signedNote] : [])],
  };
}

const signedNote =
  'it had no public playback id: the policy is `signed`, and viewers need tokens of a signing key of the new server';

function problemOf(asset: Loose): { problem?: string } {
  if (asset.status === 'errored') {
    const said = textsOf((looseOf(asset.errors).messages as readonly unknown[] | undefined) ?? []).join(' ');
    return { problem: `it is errored on Mux${said && `: ${said}`}` };
  }
  if (asset.is_live === true) return { problem: 'it is still live; move it after its broadcast' };
  if (asset.status !== 'ready') return { problem: 'it is not ready on Mux yet; run the command again later' };
  return {};
}

function streamOf(stream: Loose): OldStream {
  const id = textOf(stream.id) ?? '';
  const streamKey = textOf(stream.stream_key);
  const targets = listOf(stream.simulcast_targets).length;
  return {
    id,
    names: namesOf(stream),
    name: textOf(looseOf(stream.meta).title) ?? textOf(stream.passthrough) ?? id,
    audience: audienceOf(stream),
    ...(streamKey !== undefined && { streamKey }),
    // Each broadcast of such a stream made an asset.
    record: stream.new_asset_settings !== undefined,
    suspended: stream.status === 'disabled',
    notes: [
      ...(streamKey === undefined ? ['Mux shows no stream key: it has a new one'] : []),
      ...(targets > 0 ? [`${targets} simulcast targets are not moved`] : []),
      ...(audienceOf(stream).type === 'closed' ? [signedNote] : []),
    ],
  };
}

/** Its webhooks get all events, so the ones that are made here get those that correspond. */
const events = [
  ...['stream.started', 'stream.idle', 'recording.ready', 'asset.created', 'asset.updated', 'asset.ready'],
  ...['asset.failed', 'asset.deleted'],
];

function webhookOf(webhook: Loose): OldWebhook {
  const id = textOf(webhook.id) ?? '';
  const url = textOf(webhook.address) ?? '';
  const isOff = webhook.enabled === false;
  return {
    ...{ id, url, name: url, events },
    ...(isOff && { problem: 'it is not enabled on Mux' }),
    notes: ['requests have the names, body and signature of Millrace, and no secret until you set one'],
  };
}

function namesOf(thing: Loose): readonly string[] {
  return textsOf([thing.id, ...listOf(thing.playback_ids).map(({ id }) => id)]);
}

/** One public id opens it to everybody. */
function audienceOf(thing: Loose): Audience {
  const isPublic = listOf(thing.playback_ids).some(({ policy }) => policy === 'public');
  return { type: isPublic ? 'public' : 'closed' };
}

/** The master file, which is the best there is, or else a static rendition. */
async function filmOf(id: string, options: MuxOptions): Promise<string> {
  const { platform, signal } = options;
  const path = `/video/v1/assets/${encodeURIComponent(id)}`;
  const read = async (): Promise<Loose> => {
    const { status, body } = await call(platform, { path });
    if (status === 404) throw new Immovable('it was deleted on Mux');
    if (status !== 200) throw new Error(`Mux answered ${status} for the asset`);
    return looseOf(looseOf(body).data);
  };
  const first = await read();
  const rendition = renditionOf(first, options.streamUrl);
  if (masterOf(first).status !== 'ready' && first.master_access !== 'temporary') {
    const body = { master_access: 'temporary' };
    const { status } = await call(platform, { method: 'PUT', path: `${path}/master-access`, body });
    if (status < 200 || status >= 300) {
      if (rendition !== undefined) return rendition;
      const isSigned = audienceOf(first).type === 'closed';
      const why = isSigned
        ? 'it has signed playback ids only'
        : 'it has no static rendition that can be fetched';
      throw new Immovable(`Mux refuses master access (${status}), and ${why}`);
    }
  }
  const until = Date.now() + options.masterTime;
  for (let pause = looks.first; ; pause = Math.min(pause * 2, looks.longest)) {
    const asset = await read();
    const { status, url } = masterOf(asset);
    if (status === 'ready' && textOf(url) !== undefined) return url as string;
    if (status === 'errored') {
      if (rendition !== undefined) return rendition;
      throw new Immovable('Mux could not make its master file');
    }
    if (Date.now() > until)
      throw new Error('Mux has not made its master file in time; run the command again');
    await sleep(pause, undefined, { signal });
  }
}

function masterOf(asset: Loose): Loose {
  return looseOf(asset.master);
}

/** Only public playback ids give out files without a token. */
function renditionOf(asset: Loose, streamUrl: string): string | undefined {
  const playback = listOf(asset.playback_ids).find(({ policy }) => policy === 'public');
  const files = listOf(looseOf(asset.static_renditions).files)
    .filter(({ ext, status }) => ext === 'mp4' && (status === undefined || status === 'ready'))
    .sort((a, b) => (Number(b.height) || 0) - (Number(a.height) || 0));
  const name = textOf(files[0]?.name);
  const id = textOf(playback?.id);
  return id && name && `${streamUrl}/${encodeURIComponent(id)}/${encodeURIComponent(name)}`;
}
