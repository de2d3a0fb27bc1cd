import {
  type AnyElysia,
  bodyReader,
  Elysia,
  json,
  type Kit,
  nothing,
  object,
  says,
  Type,
} from '../../sdk/plugin.ts';
import { data, invalid, type MuxCall, muxRoutes, noContent, notFound, segment } from './api.ts';
import type { MuxKit } from './config.ts';
import { keyedFaults } from './errors.ts';
import { type NativeStream, simulcastOf, simulcastSchema, streamOf } from './live-stream.ts';
import { inTurn } from './playback-ids.ts';
import { maxEntries, passthroughSchema } from './settings.ts';

const fields = {
  url: Type.String({ minLength: 1, maxLength: 2048, examples: ['rtmp://live.example.com/app'] }),
  stream_key: Type.Optional(Type.String({ maxLength: 2048 })),
  passthrough: passthroughSchema,
};
export const targetSchema = object(fields);
const creation = bodyReader(fields);
interface NewTarget {
  readonly url: string;
  readonly stream_key?: string;
}

/** The whole address of a target: Mux has the key beside the URL. Fault `mux.invalid`. */
export function checkPush({ url, stream_key: key }: NewTarget): string {
  if (!/^(rtmps?|srt):\/\/[^\s]+$/i.test(url)) throw invalid('url: expected rtmp://, rtmps:// or srt://');
  if (key === undefined || key === '') return url;
  if (/^srt:/i.test(url)) throw invalid('stream_key: put the streamid of SRT into the url');
  return `${url.replace(/\/$/, '')}/${key}`;
}

/** An entry of `multistream.targets` of our API. */
export function targetOf({ push, url }: { push: string; url: string }) {
  const name = URL.canParse(url) ? new URL(url).hostname : 'target';
  return { profile: 'source', spec: { name: name || 'target', url: push } };
}

/** Rows of the state of pushes, as the events of targets told it. */
export const pushKind = 'mux-push';
const maxPushes = 100;

export async function pushesOf(
  streamId: string,
  { resources }: Pick<Kit, 'resources'>,
): Promise<Record<string, string>> {
  const rows = await resources.list(pushKind, { where: { stream: streamId }, limit: maxPushes });
  return Object.fromEntries(
    rows.map(({ body }) => {
      const { target, status } = JSON.parse(body) as { target: string; status: string };
      return [target, status];
    }),
  );
}

/** Keeps what an event of a target told. May be repeated. */
export async function notePush(
  {
    streamId,
    account,
    target,
    status,
  }: { streamId: string; account: string; target: string; status: string },
  { resources, clock }: Pick<Kit, 'resources' | 'clock'>,
): Promise<void> {
  const id = `${streamId}/${target}`;
  const before = await resources.get(pushKind, id);
  const createdAt = before?.createdAt ?? clock.now();
  const body = JSON.stringify({ target, status });
  const row = { kind: pushKind, id, account, createdAt, name: '', body, indexes: { stream: streamId } };
  // A conflict means that another repeat wrote it.
  await resources.write({ rows: [{ ...row, revision: before?.revision ?? 0 }], events: [] });
}

export async function dropPushes(streamId: string, { resources }: Pick<Kit, 'resources'>): Promise<void> {
  const rows = await resources.list(pushKind, { where: { stream: streamId }, limit: maxPushes });
  if (rows.length === 0) return;
  await resources.write({
    rows: rows.map((row) => ({ ...row, kind: pushKind, body: null, indexes: {} })),
    events: [],
  });
}

const answer = json(object({ data: simulcastSchema }), 'The target.');

/** `/video/v1/live-streams/{id}/simulcast-targets`. */
export function simulcastRoutes(kit: MuxKit): AnyElysia {
  const base = `${kit.config.path}/video/v1/live-streams/:id/simulcast-targets`;
  const keyed = muxRoutes(kit);
  const said = (name: string, answers: Record<number, typeof answer>) => ({
    ...{ name, credentials: ['basic'] as const, answers, faults: keyedFaults },
  });
  return new Elysia()
    .post(
      base,
      keyed((call) => create(call, kit)),
      says('Sends the broadcasts of a live stream to another server too.', {
        ...said('createMuxSimulcastTarget', { 201: answer }),
        body: creation,
      }),
    )
    .get(
      `${base}/:target`,
      keyed(async ({ api, params }) =>
        data(await found(await streamOf(api, params.id), { id: params.target, kit })),
      ),
      says('A simulcast target.', said('getMuxSimulcastTarget', { 200: answer })),
    )
    .delete(
      `${base}/:target`,
      keyed((call) => remove(call)),
      says('Deletes a simulcast target.', said('deleteMuxSimulcastTarget', { 204: nothing })),
    );
}

async function found(stream: NativeStream, { id, kit }: { id: string | undefined; kit: MuxKit }) {
  const target = simulcastOf(stream, { pushes: await pushesOf(stream.id, kit) }).find((one) => one.id === id);
  if (!target) throw notFound('simulcast target');
  return target;
}

async function create({ request, params, api }: MuxCall, kit: MuxKit): Promise<Response> {
  const { passthrough, ...given } = await creation.read(request);
  const push = checkPush(given);
  return inTurn(params.id ?? '', async () => {
    const { mux = {}, multistream } = await streamOf(api, params.id);
    const { simulcast = [] } = mux;
    if (simulcast.length >= maxEntries)
      throw invalid(`a live stream has at most ${maxEntries} simulcast targets`);
    const path = `/api/stream/${segment(params.id)}`;
    const known = multistream?.targets ?? [];
    await api.ask('PATCH', path, {
      multistream: { targets: [...known, targetOf({ push, url: given.url })] },
    });
    const changed = await streamOf(api, params.id);
    const id =
      changed.multistream?.targets.find((one) => !known.some((before) => before.id === one.id))?.id ?? '';
    const entry = { id, url: given.url, ...(passthrough !== undefined && { passthrough }) };
    await api.ask('PATCH', path, { mux: { ...mux, simulcast: [...simulcast, entry] } });
    return data(await found(await streamOf(api, params.id), { id, kit }), { status: 201 });
  });
}

async function remove({ params, api }: MuxCall): Promise<Response> {
  return inTurn(params.id ?? '', async () => {
    const { mux = {}, multistream } = await streamOf(api, params.id);
    const { simulcast = [] } = mux;
    if (!simulcast.some(({ id }) => id === params.target)) throw notFound('simulcast target');
    const targets = (multistream?.targets ?? []).filter(({ id }) => id !== params.target);
    const rest = simulcast.filter(({ id }) => id !== params.target);
    await api.ask('PATCH', `/api/stream/${segment(params.id)}`, {
      multistream: { targets },
      mux: { ...mux, simulcast: rest },
    });
    await api.ask('DELETE', `/api/multistream/target/${segment(params.target)}`);
    return noContent();
  });
}
