/** What the tests of uploads share: an upload, and bodies that stop when they are told. */
import { expect } from 'vitest';
import { allPlugins } from '../../kit/all-plugins.ts';
import { type World, world } from '../../kit/world.ts';

export const shipped = await allPlugins();
export const film = 'a film of eight seconds';

export async function studio(options: Partial<Parameters<typeof world>[0]> = {}) {
  const w = await world({ plugins: shipped, ...options });
  const asked = async (body: object = { name: 'Friday' }) => {
    const answer = await w.request('POST', '/api/asset/request-upload', { body });
    expect(answer.status).toBe(200);
    return answer.body as { url: string; asset: { id: string }; task: { id: string } };
  };
  return { w, asked };
}

export async function put(
  w: World,
  url: string,
  { body = film, headers = {} }: { body?: BodyInit | null; headers?: Record<string, string> } = {},
) {
  const sent = { method: 'PUT', body, headers, duplex: 'half' } as RequestInit;
  const answer = await w.app.handle(new Request(url, sent));
  const read = {
    status: answer.status,
    headers: answer.headers,
    body: (await answer.json()) as never as Answer,
  };
  await w.settle();
  return read;
}
// biome-ignore lint/suspicious/noExplicitAny: answers of all kinds
type Answer = any;

export const get = async (w: World, path: string) => (await w.request('GET', path)).body;
export const blobsOf = async (w: World, id: string) =>
  (await w.blobs.list(`assets/${id}/`, { limit: 100 })).blobs.map(({ key }) => key);
/** A body that comes to a halt when its first piece was read, until it is told how it goes on. */
export function halted() {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const read = Promise.withResolvers<void>();
  promise.catch(() => {});
  let isBegun = false;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (!isBegun) {
          isBegun = true;
          controller.enqueue(Buffer.from('half a '));
          return;
        }
        read.resolve();
        await promise;
        controller.enqueue(Buffer.from('film'));
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return { body, isRead: read.promise, goOn: resolve, breakOff: () => reject(new Error('cut off')) };
}
