import { uuid } from '../../core/base/ids.ts';
import type { Plugin } from '../../core/plugin/plugin.ts';
import type { LiveKeyFrame } from '../../core/ports/media.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { assetMaker } from '../kit/asset-maker.ts';
import { world } from '../kit/world.ts';
import { givenFilm, indexOf } from '../vod/film.ts';

/** What the tests of this plugin share: a world, a way to ask it, and assets in it. */
export const shipped = await allPlugins();
export const origin = 'http://localhost:8080';
export const keyFrame = (version: string): LiveKeyFrame => ({
  version,
  init: { id: 'i', bytes: new Blob(['init']) },
  part: new Blob(['part']),
});

export async function given(
  options: { plugins?: readonly Plugin[]; segments?: number; duration?: number } = {},
) {
  const maker = assetMaker();
  const { plugins = shipped } = options;
  const hasAssets = plugins.some(({ id }) => id === 'assets');
  const w = await world({ plugins: [...plugins, ...(hasAssets ? [maker.plugin] : [])] });
  const ask = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await w.app.fetch(new Request(`${origin}${path}`, { headers }));
    const text = await answer.text();
    await w.settle();
    const code = answer.headers.get('content-type')?.startsWith('application/json')
      ? JSON.parse(text).code
      : '';
    return { status: answer.status, headers: answer.headers, text, code };
  };
  const asset = async (source: 'directUpload' | 'recording' = 'directUpload') => {
    const account = (await w.store.resources.find('account', 'role', 'admin'))?.id ?? '';
    const id = uuid();
    const { segments = 5, duration = 2 } = options;
    const film = await givenFilm(w.blobs, { id, index: indexOf(segments, () => ({ duration })) });
    const { bytes: _, ...file } = film;
    const video = {
      type: 'video',
      codec: 'h264',
      duration: 10,
      bitrate: 1,
      fps: 30,
      width: 1,
      height: 1,
    } as const;
    const from =
      source === 'recording' ? ({ type: source, sessionId: 's' } as const) : ({ type: source } as const);
    await maker.assets.begin({ id, account, name: 'Film', source: from });
    const shown = async () => (await w.request('GET', `/api/asset/${id}`)).body;
    const { playbackId } = await shown();
    return {
      ...{ id, playbackId, shown, film },
      base: `/asset/${playbackId}`,
      async ready(tracks: readonly (typeof video)[] = [video]) {
        await maker.assets.ready(id, { ...file, spec: { ...file.spec, tracks } });
        await w.settle();
      },
    };
  };
  return { w, ask, asset };
}
