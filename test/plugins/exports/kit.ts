/** What the tests of exports share: an asset, and an address to send it to. */
import { uuid } from '../../../core/base/ids.ts';
import { allPlugins } from '../../kit/all-plugins.ts';
import { assetMaker, storeFile } from '../../kit/asset-maker.ts';
import { type World, world } from '../../kit/world.ts';

const shipped = await allPlugins();
export const url = 'https://bucket.example/film.mp4?X-Amz-Signature=sig-0123456789';

/** A world with an asset that is ready. */
export async function studio(options: Partial<Parameters<typeof world>[0]> = {}) {
  const maker = assetMaker();
  const w = await world({ plugins: [...shipped, maker.plugin], ...options });
  const account = (await w.given.stream()).userId as string;
  const begin = async (name = 'Friday show') => {
    const id = uuid();
    await maker.assets.begin({ id, account, name, source: { type: 'recording', sessionId: `of ${id}` } });
    await w.settle();
    return id;
  };
  const ready = async (name?: string) => {
    const id = await begin(name);
    await maker.assets.ready(id, await storeFile(w.blobs, id));
    await w.settle();
    return id;
  };
  const ask = (id: string, body: unknown, given: object = {}) =>
    w.request('POST', `/api/asset/${id}/export`, { body, ...given });
  return { w, maker, account, begin, ready, ask };
}

export const get = async (w: World, path: string) => (await w.request('GET', path)).body;
