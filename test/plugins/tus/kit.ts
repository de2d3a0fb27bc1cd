/** What the tests of tus share: an upload, and the requests of its client. */
import { expect } from 'vitest';
import { allPlugins } from '../../kit/all-plugins.ts';
import { type World, world } from '../../kit/world.ts';

export const shipped = await allPlugins();
export const film = 'a film of eight seconds';
export const bytes = 'application/offset+octet-stream';

export interface Sent {
  readonly body?: BodyInit | null;
  readonly headers?: Readonly<Record<string, string>>;
}
export type Host = Pick<World, 'app' | 'settle'>;

export async function studio(options: Partial<Parameters<typeof world>[0]> = {}) {
  const w = await world({ plugins: shipped, ...options });
  const asked = async (name = 'Friday') => {
    const answer = await w.request('POST', '/api/asset/request-upload', { body: { name } });
    return answer.body as { url: string; tusEndpoint: string; asset: { id: string }; task: { id: string } };
  };
  return { w, asked };
}

export async function send(w: Host, method: string, url: string, { body, headers = {} }: Sent = {}) {
  const length = typeof body === 'string' ? { 'content-length': String(body.length) } : {};
  const sent = { 'tus-resumable': '1.0.0', ...length, ...headers };
  const request = new Request(url, {
    method,
    headers: sent,
    ...(body && { body, duplex: 'half' }),
  } as RequestInit);
  const answer = await w.app.handle(request);
  const text = await answer.text();
  await w.settle();
  const { status } = answer;
  // biome-ignore lint/suspicious/noExplicitAny: answers of all kinds
  return { status, headers: answer.headers, body: (text === '' ? {} : JSON.parse(text)) as any };
}

export const create = (w: Host, url: string, { body, headers = {} }: Sent = {}) =>
  send(w, 'POST', url, {
    ...(body !== undefined && { body }),
    headers: { 'upload-length': String(film.length), ...headers },
  });
export const patch = (
  w: Host,
  url: string,
  offset: number,
  { body = film.slice(offset), headers = {} }: Sent = {},
) =>
  send(w, 'PATCH', url, {
    body,
    headers: { 'content-type': bytes, 'upload-offset': String(offset), ...headers },
  });
export const head = (w: Host, url: string) => send(w, 'HEAD', url);
export const offsetOf = async (w: Host, url: string) => {
  const { status, headers } = await head(w, url);
  return [status, headers.get('upload-offset')];
};
export const begun = async (w: Host, endpoint: string, given: Sent = {}) => {
  const answer = await create(w, endpoint, given);
  expect(answer.status).toBe(201);
  return answer.headers.get('location') as string;
};
export const get = async (w: World, path: string) => (await w.request('GET', path)).body;
export const phaseOf = async (w: World, { task }: { task: { id: string } }) =>
  (await get(w, `/api/task/${task.id}`)).status.phase;
export const statusOf = async (w: World, { asset }: { asset: { id: string } }) =>
  (await get(w, `/api/asset/${asset.id}`)).status;

/** A body that gives its text, and then nothing until it is told how it goes on. */
export function halted(text: string) {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const read = Promise.withResolvers<void>();
  promise.catch(() => {});
  let isGiven = false;
  const state = { isCancelled: false };
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (!isGiven) {
          isGiven = true;
          return controller.enqueue(Buffer.from(text));
        }
        read.resolve();
        await promise;
        controller.close();
      },
      cancel() {
        state.isCancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { body, state, isRead: read.promise, close: resolve, breakOff: () => reject(new Error('cut off')) };
}
