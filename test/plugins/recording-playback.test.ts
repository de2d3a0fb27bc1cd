import { describe, expect, it } from 'vitest';
import { definePlugin, type Plugin } from '../../core/plugin/plugin.ts';
import { vod } from '../../core/vod/answer.ts';
import accounts from '../../plugins/accounts/index.ts';
import { type AssetReference, type Assets, assets, films } from '../../plugins/assets/contract.ts';
import playback from '../../plugins/playback/index.ts';
import recordings from '../../plugins/recordings/index.ts';
import { assetIdOf } from '../../plugins/recordings/recording.ts';
import streams from '../../plugins/streams/index.ts';
import tasks from '../../plugins/tasks/index.ts';
import { world } from '../kit/world.ts';
import { givenFilm } from '../vod/film.ts';
import { asking, type GivenFilm, keepsFilmRules } from '../vod/watched-film.ts';

const sessionId = '1f6f0a52-6d6b-4a0c-9a3e-0d6f3ab7c2e1';
const url = (session = sessionId) => `http://localhost:8080/recordings/${session}`;

/** Playback of recordings over assets that the test says. */
async function given(options: Parameters<GivenFilm>[0] = {}) {
  const known = new Map<string, AssetReference | Error>();
  const lookups: string[] = [];
  const find: Assets['find'] = async (id) => {
    lookups.push(id);
    const found = known.get(id);
    if (found instanceof Error) throw found;
    return found;
  };
  const book = definePlugin({
    ...{ id: 'assets', summary: 'a book of assets', provides: [assets, films] },
    emits: { 'asset.deleted': '' },
    start(kit) {
      kit.provide(assets, { find } as unknown as Assets);
      kit.provide(films, vod({ blobs: kit.blobs, bytes: 1_048_576 }));
      return undefined;
    },
  });
  const plugins = [accounts, streams, tasks, playback, book, recordings] as unknown as Plugin[];
  const w = await world({ plugins });
  const id = assetIdOf(sessionId);
  const film = await givenFilm(w.blobs, { id, ...options });
  const reference = (status: AssetReference['status']): AssetReference => ({
    ...{ id, status, account: 'a', name: 'A show', userTags: {}, playbackId: '6pukxh2m0ydr9h3q' },
    ...{ source: { type: 'recording', sessionId }, fields: {} },
    ...(status === 'ready' && { file: film }),
  });
  const is = (what: AssetReference | Error) => known.set(id, what);
  is(reference('ready'));
  const forget = async () => void known.delete(id);
  return { w, film, url, lookups, forget, fail: is, is, reference };
}

keepsFilmRules(given, {
  absent: 'recording.not_found',
  strangers: ['x', '1F6F0A52-6D6B-4A0C-9A3E-0D6F3AB7C2E1', '6pukxh2m0ydr9h3q'],
});

it('a finished recording is told of by its session', async () => {
  const { w, is, reference } = await given();
  await using _ = w;
  const info = () => w.request('GET', `/api/playback/${sessionId}`, { key: null });
  expect((await info()).body).toEqual({
    type: 'recording',
    meta: {
      live: 0,
      source: [
        { hrn: 'HLS (TS)', type: 'html5/application/vnd.apple.mpegurl', url: `${url()}/index.m3u8` },
        { hrn: 'MP4', type: 'html5/video/mp4', url: `${url()}/source.mp4` },
      ],
    },
  });
  is(reference('waiting'));
  const early = await info();
  expect([early.status, early.body.code]).toEqual([404, 'playback.not_ready']);
  expect(early.headers.get('retry-after')).toBe('5');
  is(reference('failed'));
  expect((await info()).body.code).toBe('playback.not_found');
});

describe('what is not there', () => {
  it('is 404, not to be kept, and says whether it may come', async () => {
    const { w, is, reference, forget } = await given();
    await using _ = w;
    const ask = asking(w, url());
    is(reference('waiting'));
    const early = await ask('index.m3u8');
    expect([early.status, early.code, early.headers.get('retry-after')]).toEqual([
      404,
      'recording.not_ready',
      '5',
    ]);
    expect(early.headers.get('cache-control')).toBe('no-store');
    is(reference('failed'));
    expect((await ask('source.mp4')).code).toBe('recording.not_found');
    await forget();
    for (const name of ['index.m3u8', 'source.m3u8', 'source.mp4', 'seg0.mp4'])
      expect((await ask(name)).code).toBe('recording.not_found');
  });

  it('may come while its session is on the air, and while that may come back', async () => {
    const { w } = await given();
    await using _ = w;
    for (const [record, code] of [
      [true, 'recording.not_ready'],
      [false, 'recording.not_found'],
    ]) {
      const publish = await w.given.broadcast(await w.given.stream({ record }));
      const ask = asking(w, url(publish.grant.sessionId));
      await w.advance('1s');
      expect((await ask('index.m3u8')).code).toBe(code);
      publish.end({ clean: true });
      await w.advance('1m');
      expect((await ask('index.m3u8')).code).toBe(code);
    }
  });
});
