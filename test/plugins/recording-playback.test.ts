import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { Fault } from '../../core/fault.ts';
import { definePlugin, type Plugin } from '../../core/plugin.ts';
import accounts from '../../plugins/accounts/index.ts';
import { type AssetReference, type Assets, assets } from '../../plugins/assets/contract.ts';
import playback from '../../plugins/playback/index.ts';
import recordings from '../../plugins/recordings/index.ts';
import { assetIdOf } from '../../plugins/recordings/names.ts';
import streams from '../../plugins/streams/index.ts';
import { parseSegmentPlaylist } from '../hls/event-checker.ts';
import { type World, world } from '../kit/world.ts';
import { givenFilm, indexOf } from '../vod/film.ts';

const sessionId = '1f6f0a52-6d6b-4a0c-9a3e-0d6f3ab7c2e1';

/** Playback of recordings over assets that the test says. */
async function given(options: { index?: Uint8Array; bytes?: number } = {}) {
  const known = new Map<string, AssetReference | Error>();
  const lookups: string[] = [];
  const find: Assets['find'] = async (id) => {
    lookups.push(id);
    const found = known.get(id);
    if (found instanceof Error) throw found;
    return found;
  };
  const book = definePlugin({
    ...{ id: 'assets', summary: 'a book of assets', provides: [assets] },
    emits: { 'asset.deleted': '' },
    start(kit) {
      kit.provide(assets, { find } as unknown as Assets);
      return undefined;
    },
  });
  const plugins = [accounts, streams, playback, book, recordings] as unknown as Plugin[];
  const w = await world({ plugins });
  const id = assetIdOf(sessionId);
  const film = await givenFilm(w.blobs, { id, ...options });
  const reference = (status: AssetReference['status']): AssetReference => ({
    ...{ status, account: 'a', playbackId: '6pukxh2m0ydr9h3q' },
    ...(status === 'ready' && { file: film }),
  });
  known.set(id, reference('ready'));
  const { get } = w.blobs;
  const reads: string[] = [];
  w.blobs.get = (key, asked) => {
    reads.push(key);
    return get(key, asked);
  };
  return {
    w,
    film,
    lookups,
    reads,
    is: (what: AssetReference | Error) => known.set(id, what),
    reference,
    known,
    id,
  };
}

async function ask(w: World, name: string, init: RequestInit & { session?: string } = {}) {
  const { session = sessionId, ...rest } = init;
  const url = `http://localhost:8080/recordings/${session}/${name}`;
  const answer: Response = await w.app.handle(new Request(url, rest));
  const bytes = Buffer.from(await answer.bytes());
  const isError = answer.headers.get('content-type') === 'application/json';
  return {
    status: answer.status,
    headers: answer.headers,
    bytes,
    code: isError && bytes.length > 0 ? JSON.parse(bytes.toString()).code : undefined,
  };
}

describe('a finished recording', () => {
  it('is played from its playlists: each segment and init is bytes of its file', async () => {
    const { w, film } = await given();
    await using _ = w;
    const multivariant = await ask(w, 'index.m3u8');
    expect(multivariant.status).toBe(200);
    expect(multivariant.headers.get('content-type')).toBe('application/vnd.apple.mpegurl');
    expect(multivariant.bytes.toString()).toMatch(/\nsource\.m3u8\n$/);
    const media = await ask(w, 'source.m3u8');
    expect(media.headers.get('content-type')).toBe('application/vnd.apple.mpegurl');
    const { segments } = parseSegmentPlaylist(media.bytes.toString());
    expect(segments.length).toBe(5);
    for (const { uri, sequence } of segments) {
      const segment = await ask(w, uri);
      expect([segment.status, segment.headers.get('content-type')]).toEqual([200, 'video/mp4']);
      const at = 40 + sequence * 100;
      expect(segment.bytes.equals(film.bytes.subarray(at, at + 90))).toBe(true);
    }
    const init = await ask(w, segments[0].map);
    expect(init.bytes.equals(film.bytes.subarray(8, 28))).toBe(true);
    for (const name of ['seg5.mp4', 'init1.mp4', 'seg0.m4s', 'x', 'seg00.mp4', 'x/index.m3u8']) {
      const { status, code } = await ask(w, name);
      expect([name, status, code]).toEqual([name, 404, 'recording.not_found']);
    }
  });

  it('is one file with its index in front, in any range', async () => {
    const { w, film } = await given();
    await using _ = w;
    const whole = Buffer.concat([Buffer.from('head'.repeat(9)), film.bytes.subarray(24, 900)]);
    const all = await ask(w, 'source.mp4');
    expect(all.status).toBe(200);
    expect(all.bytes.equals(whole)).toBe(true);
    expect(all.headers.get('accept-ranges')).toBe('bytes');
    for (const [from, to] of [
      [0, 1],
      [30, 40],
      [36, 100],
      [35, 36],
      [900, 912],
    ]) {
      const { status, headers, bytes } = await ask(w, 'source.mp4', {
        headers: { range: `bytes=${from}-${to - 1}` },
      });
      expect([status, headers.get('content-range')]).toEqual([206, `bytes ${from}-${to - 1}/912`]);
      expect(bytes.equals(whole.subarray(from, to))).toBe(true);
    }
    const beyond = await ask(w, 'source.mp4', { headers: { range: 'bytes=912-' } });
    expect([beyond.status, beyond.code, beyond.headers.get('content-range')]).toEqual([
      416,
      'file.beyond',
      'bytes */912',
    ]);
    expect(beyond.headers.get('access-control-allow-origin')).toBe('*');
  });

  it('is answered to HEAD as to GET, without a read of its file', async () => {
    const { w, reads } = await given();
    await using _ = w;
    for (const name of ['index.m3u8', 'source.m3u8', 'source.mp4', 'seg1.mp4', 'init0.mp4']) {
      const got = await ask(w, name);
      reads.length = 0;
      const head = await ask(w, name, { method: 'HEAD' });
      expect([name, head.status, reads]).toEqual([name, 200, []]);
      expect([name, head.headers.get('content-length')]).toEqual([name, String(got.bytes.length)]);
      for (const header of ['content-type', 'etag', 'cache-control', 'access-control-allow-origin'])
        expect([name, header, head.headers.get(header)]).toEqual([name, header, got.headers.get(header)]);
    }
    expect((await ask(w, 'seg9.mp4', { method: 'HEAD' })).status).toBe(404);
  });

  it('may be kept: playlists for a minute, segments for a week, and is known again by its tag', async () => {
    const { w } = await given();
    await using _ = w;
    const tags = new Set<string>();
    for (const [name, age] of [
      ['index.m3u8', 'public, max-age=60'],
      ['source.m3u8', 'public, max-age=60'],
      ['source.mp4', 'public, max-age=3600'],
      ['seg1.mp4', 'public, max-age=604800, immutable'],
      ['init0.mp4', 'public, max-age=604800, immutable'],
    ]) {
      const { headers } = await ask(w, name);
      const tag = headers.get('etag') as string;
      tags.add(tag);
      expect([name, headers.get('cache-control')]).toEqual([name, age]);
      const again = await ask(w, name, { headers: { 'if-none-match': `"x", ${tag}` } });
      expect([name, again.status, again.bytes.length, again.headers.get('cache-control')]).toEqual([
        ...[name, 304, 0, age],
      ]);
      const other = await ask(w, name, { headers: { 'if-match': '"x"' } });
      expect([name, other.status, other.code]).toEqual([name, 412, 'file.changed']);
    }
    expect(tags.size).toBe(5);
  });

  it('is packed for who takes it packed', async () => {
    const { w } = await given({ index: indexOf(500) });
    await using _ = w;
    const plain = await ask(w, 'source.m3u8');
    expect([plain.headers.get('content-encoding'), plain.headers.get('vary')]).toEqual([
      null,
      'Accept-Encoding',
    ]);
    for (const accepted of ['gzip', 'br, gzip;q=0.5', 'GZIP', '*']) {
      const { headers, bytes } = await ask(w, 'source.m3u8', { headers: { 'accept-encoding': accepted } });
      expect([accepted, headers.get('content-encoding')]).toEqual([accepted, 'gzip']);
      expect(headers.get('etag')).not.toBe(plain.headers.get('etag'));
      expect(gunzipSync(bytes).equals(plain.bytes)).toBe(true);
    }
    for (const accepted of ['br', 'gzip;q=0', '*, gzip;q=0', 'gzip;q=x', 'identity']) {
      const { headers } = await ask(w, 'source.m3u8', { headers: { 'accept-encoding': accepted } });
      expect([accepted, headers.get('content-encoding')]).toEqual([accepted, null]);
    }
  });

  it('is for pages of every origin', async () => {
    const { w } = await given();
    await using _ = w;
    for (const name of ['index.m3u8', 'seg0.mp4', 'source.mp4', 'nothing']) {
      const { headers } = await ask(w, name, { headers: { origin: 'https://example.org' } });
      expect(headers.get('access-control-allow-origin')).toBe('*');
      expect(headers.get('access-control-expose-headers')).toContain('Content-Range');
    }
    const asked = await ask(w, 'index.m3u8', { method: 'OPTIONS' });
    expect([asked.status, asked.headers.get('access-control-allow-headers')]).toEqual([204, '*']);
  });

  it('is told of by its session', async () => {
    const { w, is, reference } = await given();
    await using _ = w;
    const info = () => w.request('GET', `/api/playback/${sessionId}`, { key: null });
    const base = `http://localhost:8080/recordings/${sessionId}`;
    expect((await info()).body).toEqual({
      type: 'recording',
      meta: {
        live: 0,
        source: [
          { hrn: 'HLS (TS)', type: 'html5/application/vnd.apple.mpegurl', url: `${base}/index.m3u8` },
          { hrn: 'MP4', type: 'html5/video/mp4', url: `${base}/source.mp4` },
        ],
      },
    });
    for (const status of ['waiting', 'failed'] as const) {
      is(reference(status));
      expect((await info()).status).toBe(404);
    }
  });
});

describe('what is not there', () => {
  it('is 404, not to be kept, and says whether it may come', async () => {
    const { w, is, reference, known, id } = await given();
    await using _ = w;
    is(reference('waiting'));
    const early = await ask(w, 'index.m3u8');
    expect([early.status, early.code, early.headers.get('retry-after')]).toEqual([
      404,
      'recording.not_ready',
      '5',
    ]);
    expect(early.headers.get('cache-control')).toBe('no-store');
    is(reference('failed'));
    expect((await ask(w, 'source.mp4')).code).toBe('recording.not_found');
    known.delete(id);
    for (const name of ['index.m3u8', 'source.m3u8', 'source.mp4', 'seg0.mp4'])
      expect((await ask(w, name)).code).toBe('recording.not_found');
  });

  it('may come while its session is on the air, and while that may come back', async () => {
    const { w } = await given();
    await using _ = w;
    for (const [record, code] of [
      [true, 'recording.not_ready'],
      [false, 'recording.not_found'],
    ]) {
      const publish = await w.given.broadcast(await w.given.stream({ record }));
      const session = publish.grant.sessionId;
      await w.advance('1s');
      expect((await ask(w, 'index.m3u8', { session })).code).toBe(code);
      publish.end({ clean: true });
      await w.advance('1m');
      expect((await ask(w, 'index.m3u8', { session })).code).toBe(code);
    }
  });

  it('is gone at once when it is deleted, whatever was kept of it', async () => {
    const { w, known, id, film, is, reference } = await given();
    await using _ = w;
    for (const name of ['index.m3u8', 'source.m3u8', 'seg0.mp4'])
      expect((await ask(w, name)).status).toBe(200);
    known.delete(id);
    for (const name of ['index.m3u8', 'source.m3u8', 'seg0.mp4'])
      expect((await ask(w, name)).status).toBe(404);
    // The book says that it is there, and the blob store has lost it.
    is(reference('ready'));
    await w.blobs.delete([film.video.key]);
    expect((await ask(w, 'seg0.mp4')).status).toBe(404);
    // Its head is there.
    expect((await ask(w, 'source.mp4')).code).toBe('blobs.unavailable');
  });

  it.each(['x', '1F6F0A52-6D6B-4A0C-9A3E-0D6F3AB7C2E1', '%00', 'a'.repeat(40), '..%2f..'])(
    'is not even looked for: %s',
    async (session) => {
      const { w, lookups } = await given();
      await using _ = w;
      expect((await ask(w, 'index.m3u8', { session })).code).toBe('recording.not_found');
      expect(lookups).toEqual([]);
    },
  );
});

it('goes on while the store does not answer, for what was watched before', async () => {
  const { w, is } = await given();
  await using _ = w;
  expect((await ask(w, 'seg0.mp4')).status).toBe(200);
  is(new Fault('store.unknown', { status: 503, message: 'away' }));
  for (const name of ['index.m3u8', 'source.m3u8', 'seg3.mp4']) expect((await ask(w, name)).status).toBe(200);
  const session = '00000000-0000-4000-8000-000000000000';
  expect((await ask(w, 'seg0.mp4', { session })).status).toBe(404);
});

it('an index that is broken is our mistake and harms nobody else', async () => {
  const { w, film, id } = await given();
  await using _ = w;
  await w.blobs.put(`assets/${id}/index.bin`, Buffer.alloc(film.index.size, 0x7f));
  const { status, code } = await ask(w, 'index.m3u8');
  expect([status, code]).toEqual([500, 'internal']);
  expect((await ask(w, 'source.mp4')).status).toBe(200);
});
