import { describe, expect, it } from 'vitest';
import { Fault } from '../../../core/base/fault.ts';
import type { World } from '../../kit/world.ts';
import { blobsOf, film, get, put, studio } from './kit.ts';

describe('playback of an uploaded film', () => {
  const read = async (w: World, url: string) => {
    const answer = await w.app.handle(new Request(url));
    return answer.status === 200 ? await answer.text() : answer.status;
  };

  it('is cut from its file, which is there once', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url, asset } = await asked();
    const { playbackUrl, playbackId } = (await put(w, url)).body;
    const file = (name: string) => playbackUrl.replace('index.m3u8', name);
    expect(await read(w, playbackUrl)).toContain('RESOLUTION=640x360');
    expect(await read(w, file('source.m3u8'))).toContain('#EXTINF:8.00000,\nseg0.mp4');
    expect(await read(w, file('init0.mp4'))).toBe('init');
    expect(await read(w, file('seg0.mp4'))).toBe(`head${film}`);
    expect(await read(w, file('source.mp4'))).toBe(`front${film.slice(2)}`);
    for (const of of [asset.id, playbackId]) {
      const { body } = await w.request('GET', `/api/playback/${of}`, { key: null });
      expect(body).toEqual({
        type: 'vod',
        meta: {
          live: 0,
          source: [
            { hrn: 'HLS (TS)', type: 'html5/application/vnd.apple.mpegurl', url: playbackUrl },
            { hrn: 'MP4', type: 'html5/video/mp4', url: file('source.mp4') },
          ],
        },
      });
    }
    await w.request('DELETE', `/api/asset/${asset.id}`);
    await w.settle();
    expect([await read(w, playbackUrl), await blobsOf(w, asset.id)]).toEqual([404, []]);
  });

  it('stays when the sweep has been there', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url, asset } = await asked();
    await put(w, url);
    const before = await blobsOf(w, asset.id);
    await w.advance('5h');
    expect([before.length, await blobsOf(w, asset.id)]).toEqual([5, before]);
  });

  it('that cannot be cut is accepted all the same: it says why there is no HLS, and has its file', async () => {
    const { w, asked } = await studio();
    await using _ = w;
    const { url, asset } = await asked();
    const body = 'uncut: segment 3 would have too many pieces';
    const answer = await put(w, url, { body });
    const statusMessage = 'There is no HLS of this file: segment 3 would have too many pieces.';
    expect([answer.status, answer.body]).toMatchObject([200, { status: 'ready', statusMessage }]);
    expect(answer.body).not.toHaveProperty('playbackUrl');
    const { downloadUrl } = answer.body;
    const playback = await w.request('GET', `/api/playback/${asset.id}`, { key: null });
    expect(playback.body.meta.source).toEqual([{ hrn: 'MP4', type: 'html5/video/mp4', url: downloadUrl }]);
    const base = downloadUrl.replace('video', '');
    expect(await read(w, `${base}source.mp4`)).toBe(body);
    expect([await read(w, `${base}index.m3u8`), await read(w, `${base}seg0.mp4`)]).toEqual([404, 404]);
  });

  it.each(['index.bin', 'heads.bin', 'head.mp4', 'json', 'mp4'])(
    'of which %s cannot be stored leaves nothing, and is had by another try',
    async (ending) => {
      const { w, asked } = await studio();
      await using _ = w;
      const { url, asset, task } = await asked();
      const { put: store, adopt } = w.blobs;
      const full = new Fault('blobs.full', { status: 507, message: 'full' });
      const isIt = (key: string) => key.slice(key.indexOf('.') + 1) === ending;
      const failing = async (key: string) => {
        // It may be there all the same.
        await store(key, Buffer.from('half'));
        throw full;
      };
      w.blobs.put = async (key, ...rest) => {
        if (isIt(key)) return failing(key);
        // Others are still being put by then.
        for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        return store(key, ...rest);
      };
      w.blobs.adopt = (key, ...rest) => (isIt(key) ? failing(key) : adopt(key, ...rest));
      expect((await put(w, url)).body.code).toBe('blobs.full');
      expect(await blobsOf(w, asset.id)).toEqual([]);
      expect((await get(w, `/api/task/${task.id}`)).status.phase).toBe('waiting');
      Object.assign(w.blobs, { put: store, adopt });
      expect((await put(w, url)).body).toHaveProperty('playbackUrl');
      expect(await blobsOf(w, asset.id)).toHaveLength(5);
    },
  );
});
