/** What the tests of imports share: a world whose films are on another server. */
import { expect } from 'vitest';
import type { OutboundFailure } from '../../../core/ports/outbound.ts';
import type { AssetsKit } from '../../../plugins/assets/config.ts';
import { allPlugins } from '../../kit/all-plugins.ts';
import { world } from '../../kit/world.ts';

const shipped = await allPlugins();
export const film = 'a film of eight seconds';
export const url = 'http://films.example/friday.mp4';

export async function studio(options: Partial<Parameters<typeof world>[0]> = {}) {
  let own: AssetsKit | undefined;
  const plugins = shipped.map((plugin) => {
    if (plugin.id !== 'assets' || !plugin.routes) return plugin;
    const { routes } = plugin;
    const kept: typeof routes = (kit) => {
      own = kit as unknown as AssetsKit;
      return routes(kit);
    };
    return { ...plugin, routes: kept };
  });
  const w = await world({ plugins, ...options });
  const ask = (body: object, headers: Record<string, string> = {}) =>
    w.request('POST', '/api/asset/import', { body, headers });
  const get = async (path: string) => (await w.request('GET', path)).body;
  return {
    ...{ w, ask, get },
    /** The kit of the plugin, as it was given at the last start. */
    kit: () => own as AssetsKit,
    /** Imports, and does not wait for how it goes. */
    async asked(body: object = { url }) {
      const answer = await ask(body);
      expect(answer.status).toBe(201);
      return answer.body as Asked;
    },
    async reached({ task }: Asked, ...phases: string[]) {
      for (;;) {
        await w.settle();
        const found = await get(`/api/task/${task.id}`);
        if (phases.includes(found.status.phase)) return found;
      }
    },
    blobsOf: async ({ asset }: Asked) =>
      (await w.blobs.list(`assets/${asset.id}/`, { limit: 100 })).blobs.map(({ key }) => key),
    serve: (body = film) => w.outbound.answer('http://films.example/', () => ({ body: Buffer.from(body) })),
    /** The server says nothing until it is told to, or is left. */
    halt() {
      const asked = Promise.withResolvers<void>();
      const going = Promise.withResolvers<void>();
      let isLeft = false;
      w.outbound.answer('http://films.example/', async (_, { signal }) => {
        asked.resolve();
        const left = new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
        await Promise.race([going.promise, left]);
        isLeft = signal?.aborted === true;
        return { body: Buffer.from(film) };
      });
      return { isAsked: asked.promise, goOn: going.resolve, isLeft: () => isLeft };
    },
  };
}

export interface Asked {
  asset: { id: string };
  task: { id: string };
}

export function failure(reason: OutboundFailure['reason'], message: string): OutboundFailure {
  return { ok: false, reason, message };
}
