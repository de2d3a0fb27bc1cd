import { expect, it } from 'vitest';
import type { Fault } from '../../core/base/fault.ts';
import { uuid } from '../../core/base/ids.ts';
import type { Kit, Plugin } from '../../core/plugin/plugin.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { assetMaker } from '../kit/asset-maker.ts';
import { world } from '../kit/world.ts';
import { givenFilm } from '../vod/film.ts';
import { asking, type GivenFilm, keepsFilmRules } from '../vod/watched-film.ts';

const shipped = await allPlugins();

/** Playback of an asset by the whole program. */
async function given(options: Parameters<GivenFilm>[0] = {}) {
  const maker = assetMaker();
  const lookups: string[] = [];
  let fault: Fault | undefined;
  const watched = (plugin: Plugin): Plugin => ({
    ...plugin,
    routes: (kit: Kit) => plugin.routes!({ ...kit, resources: { ...kit.resources, find: counted(kit) } }),
  });
  const counted =
    ({ resources }: Kit): Kit['resources']['find'] =>
    async (kind, index, value) => {
      lookups.push(value);
      if (fault) throw fault;
      return resources.find(kind, index, value);
    };
  const plugins = shipped.map((plugin) => (plugin.id === 'assets' ? watched(plugin) : plugin));
  const w = await world({ plugins: [...plugins, maker.plugin] });
  const account = (await w.given.stream()).userId as string;
  const id = uuid();
  const film = await givenFilm(w.blobs, { id, ...options });
  const { bytes: _, ...file } = film;
  await maker.assets.begin({ id, account, name: 'Film', source: { type: 'recording', sessionId: 's' } });
  const shown = async () => (await w.request('GET', `/api/asset/${id}`)).body;
  const { playbackId } = await shown();
  return {
    ...{ w, film, lookups, id, playbackId, shown },
    url: (of: string = playbackId) => `http://localhost:8080/asset/${of}`,
    ready: (change: Partial<typeof file> = {}) => maker.assets.ready(id, { ...file, ...change }),
    async failWith(message: string) {
      await maker.assets.fail(id, message);
      await w.settle();
    },
    fail: (with_: Fault) => {
      fault = with_;
    },
    async forget() {
      expect((await w.request('DELETE', `/api/asset/${id}`)).status).toBe(204);
      await w.settle();
    },
  };
}

const whenReady: GivenFilm = async (options) => {
  const asset = await given(options);
  await asset.ready();
  await asset.w.settle();
  return asset;
};

keepsFilmRules(whenReady, {
  absent: 'asset.no_file',
  strangers: ['x', 'ABCDEFGHIJKLMNOP', '1f6f0a52-6d6b-4a0c-9a3e-0d6f3ab7c2e1'],
});

it('an asset names its playback when it is ready, and players are told of it first', async () => {
  const { w, id, playbackId, url, shown, ready } = await given();
  await using _ = w;
  expect(await shown()).not.toHaveProperty('playbackUrl');
  expect((await asking(w, url())('index.m3u8')).code).toBe('asset.no_file');
  await ready();
  const playbackUrl = `${url()}/index.m3u8`;
  expect((await shown()).playbackUrl).toBe(playbackUrl);
  for (const of of [id, playbackId]) {
    const { body } = await w.request('GET', `/api/playback/${of}`, { key: null });
    expect(body.meta.source).toEqual([
      { hrn: 'HLS (TS)', type: 'html5/application/vnd.apple.mpegurl', url: playbackUrl },
      { hrn: 'MP4', type: 'html5/video/mp4', url: `${url()}/source.mp4` },
    ]);
  }
});

it('an asset without a file says whether one may come', async () => {
  const { w, id, playbackId, failWith } = await given();
  await using _ = w;
  const ask = (of: string) => w.request('GET', `/api/playback/${of}`, { key: null });
  for (const of of [id, playbackId]) {
    const { status, body, headers } = await ask(of);
    expect([status, body.code, headers.get('retry-after')]).toEqual([404, 'playback.not_ready', '5']);
  }
  await failWith('from https://user:secret@films.example/');
  const failed = await ask(playbackId);
  expect([failed.status, failed.body.code]).toEqual([404, 'playback.failed']);
  expect(JSON.stringify(failed.body)).not.toContain('films.example');
});

it('an asset of which nobody knows the segments names none, and has none', async () => {
  const { w, id, film, url, shown, ready } = await given();
  await using _ = w;
  await ready({ index: undefined, head: undefined });
  expect(await shown()).not.toHaveProperty('playbackUrl');
  const ask = asking(w, url());
  for (const name of ['index.m3u8', 'source.m3u8', 'seg0.mp4', 'init0.mp4'])
    expect((await ask(name)).code).toBe('asset.no_file');
  expect((await ask('source.mp4')).bytes.equals(film.bytes)).toBe(true);
  const { body } = await w.request('GET', `/api/playback/${id}`, { key: null });
  expect(body.meta.source).toEqual([{ hrn: 'MP4', type: 'html5/video/mp4', url: `${url()}/video` }]);
});

it('an asset whose file is replaced is played as the new one at once', async () => {
  const { w, id, url, ready } = await given();
  await using _ = w;
  await ready();
  const ask = asking(w, url());
  const before = await ask('seg0.mp4');
  const other = Buffer.alloc(1000, 7);
  await w.blobs.put(`assets/${id}/again.mp4`, other);
  const video = { key: `assets/${id}/again.mp4`, size: 1000, md5: 'y', sha256: 'ef'.repeat(32) };
  await ready({ video });
  const after = await ask('seg0.mp4');
  expect(after.bytes.equals(other.subarray(40, 130))).toBe(true);
  expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'));
});

it('is played by nodes without the role api', async () => {
  await using w = await world({ plugins: shipped, roles: ['media'] });
  const answer = await asking(w, 'http://localhost:8080/asset/0123456789abcdef')('index.m3u8');
  expect(answer.code).toBe('asset.no_file');
});
