import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { Fault } from '../../core/base/fault.ts';
import { parseSegmentPlaylist } from '../hls/event-checker.ts';
import type { World } from '../kit/world.ts';
import { type givenFilm, indexOf } from './film.ts';

/** A film of `givenFilm` at an address that everyone can watch. */
export interface WatchedFilm {
  readonly w: World;
  readonly film: Awaited<ReturnType<typeof givenFilm>>;
  /** Address of the film, or of what would be another one's. */
  url(id?: string): string;
  /** Each id for which the store was asked. */
  readonly lookups: string[];
  /** Its row is gone. */
  forget(): Promise<void>;
  /** From now on the store answers so. */
  fail(fault: Fault): void;
}

export type GivenFilm = (options?: { index?: Uint8Array; bytes?: number }) => Promise<WatchedFilm>;

/** What every film keeps that can be watched, by whatever address. `absent` is the code of what is not there. */
export function keepsFilmRules(given: GivenFilm, options: { absent: string; strangers: readonly string[] }) {
  const { absent, strangers } = options;

  describe('a film', () => {
    it('is played from its playlists: each segment and init is bytes of its file', async () => {
      const { w, film, ...rest } = await given();
      await using _ = w;
      const ask = asking(w, rest.url());
      const multivariant = await ask('index.m3u8');
      expect(multivariant.status).toBe(200);
      expect(multivariant.headers.get('content-type')).toBe('application/vnd.apple.mpegurl');
      expect(multivariant.bytes.toString()).toMatch(/\nsource\.m3u8\n$/);
      const media = await ask('source.m3u8');
      expect(media.headers.get('content-type')).toBe('application/vnd.apple.mpegurl');
      const { segments } = parseSegmentPlaylist(media.bytes.toString());
      expect(segments.length).toBe(5);
      for (const { uri, sequence } of segments) {
        const segment = await ask(uri);
        expect([segment.status, segment.headers.get('content-type')]).toEqual([200, 'video/mp4']);
        const at = 40 + sequence * 100;
        expect(segment.bytes.equals(film.bytes.subarray(at, at + 90))).toBe(true);
      }
      const init = await ask(segments[0].map);
      expect(init.bytes.equals(film.bytes.subarray(8, 28))).toBe(true);
      for (const name of ['seg5.mp4', 'init1.mp4', 'seg0.m4s', 'x', 'seg00.mp4', 'x/index.m3u8']) {
        const { status, code } = await ask(name);
        expect([name, status, code]).toEqual([name, 404, absent]);
      }
    });

    it('is one file with its index in front, in any range', async () => {
      const { w, film, ...rest } = await given();
      await using _ = w;
      const ask = asking(w, rest.url());
      const whole = Buffer.concat([Buffer.from('head'.repeat(9)), film.bytes.subarray(24, 900)]);
      const all = await ask('source.mp4');
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
        const { status, headers, bytes } = await ask('source.mp4', {
          headers: { range: `bytes=${from}-${to - 1}` },
        });
        expect([status, headers.get('content-range')]).toEqual([206, `bytes ${from}-${to - 1}/912`]);
        expect(bytes.equals(whole.subarray(from, to))).toBe(true);
      }
      const beyond = await ask('source.mp4', { headers: { range: 'bytes=912-' } });
      expect([beyond.status, beyond.code, beyond.headers.get('content-range')]).toEqual([
        416,
        'file.beyond',
        'bytes */912',
      ]);
      expect(beyond.headers.get('access-control-allow-origin')).toBe('*');
    });

    it('is answered to HEAD as to GET, without a read of its file', async () => {
      const { w, ...rest } = await given();
      await using _ = w;
      const ask = asking(w, rest.url());
      const reads = readsOf(w);
      for (const name of ['index.m3u8', 'source.m3u8', 'source.mp4', 'seg1.mp4', 'init0.mp4']) {
        const got = await ask(name);
        reads.length = 0;
        const head = await ask(name, { method: 'HEAD' });
        expect([name, head.status, reads]).toEqual([name, 200, []]);
        expect([name, head.headers.get('content-length')]).toEqual([name, String(got.bytes.length)]);
        for (const header of ['content-type', 'etag', 'cache-control', 'access-control-allow-origin'])
          expect([name, header, head.headers.get(header)]).toEqual([name, header, got.headers.get(header)]);
      }
      expect((await ask('seg9.mp4', { method: 'HEAD' })).status).toBe(404);
    });

    it('may be kept: playlists for a minute, segments for a week, and is known again by its tag', async () => {
      const { w, ...rest } = await given();
      await using _ = w;
      const ask = asking(w, rest.url());
      const tags = new Set<string>();
      for (const [name, age] of [
        ['index.m3u8', 'public, max-age=60'],
        ['source.m3u8', 'public, max-age=60'],
        ['source.mp4', 'public, max-age=3600'],
        ['seg1.mp4', 'public, max-age=604800, immutable'],
        ['init0.mp4', 'public, max-age=604800, immutable'],
      ]) {
        const { headers } = await ask(name);
        const tag = headers.get('etag') as string;
        tags.add(tag);
        expect([name, headers.get('cache-control')]).toEqual([name, age]);
        const again = await ask(name, { headers: { 'if-none-match': `"x", ${tag}` } });
        expect([name, again.status, again.bytes.length, again.headers.get('cache-control')]).toEqual([
          ...[name, 304, 0, age],
        ]);
        const other = await ask(name, { headers: { 'if-match': '"x"' } });
        expect([name, other.status, other.code]).toEqual([name, 412, 'file.changed']);
      }
      expect(tags.size).toBe(5);
    });

    it('is packed for who takes it packed', async () => {
      const { w, ...rest } = await given({ index: indexOf(500) });
      await using _ = w;
      const ask = asking(w, rest.url());
      const plain = await ask('source.m3u8');
      expect([plain.headers.get('content-encoding'), plain.headers.get('vary')]).toEqual([
        null,
        'Accept-Encoding',
      ]);
      for (const accepted of ['gzip', 'br, gzip;q=0.5', 'GZIP', '*']) {
        const { headers, bytes } = await ask('source.m3u8', { headers: { 'accept-encoding': accepted } });
        expect([accepted, headers.get('content-encoding')]).toEqual([accepted, 'gzip']);
        expect(headers.get('etag')).not.toBe(plain.headers.get('etag'));
        expect(gunzipSync(bytes).equals(plain.bytes)).toBe(true);
      }
      for (const accepted of ['br', 'gzip;q=0', '*, gzip;q=0', 'gzip;q=x', 'identity']) {
        const { headers } = await ask('source.m3u8', { headers: { 'accept-encoding': accepted } });
        expect([accepted, headers.get('content-encoding')]).toEqual([accepted, null]);
      }
    });

    it('is for pages of every origin', async () => {
      const { w, ...rest } = await given();
      await using _ = w;
      const ask = asking(w, rest.url());
      for (const name of ['index.m3u8', 'seg0.mp4', 'source.mp4', 'nothing']) {
        const { headers } = await ask(name, { headers: { origin: 'https://example.org' } });
        expect(headers.get('access-control-allow-origin')).toBe('*');
        expect(headers.get('access-control-expose-headers')).toContain('Content-Range');
      }
      const asked = await ask('index.m3u8', { method: 'OPTIONS' });
      expect([asked.status, asked.headers.get('access-control-allow-headers')]).toEqual([204, '*']);
    });

    it('is gone at once when it is deleted, whatever was kept of it', async () => {
      const { w, forget, ...rest } = await given();
      await using _ = w;
      const ask = asking(w, rest.url());
      const names = ['index.m3u8', 'source.m3u8', 'seg0.mp4', 'source.mp4'];
      for (const name of names) expect((await ask(name)).status).toBe(200);
      await forget();
      for (const name of names) {
        const { status, code, headers } = await ask(name);
        expect([status, code, headers.get('cache-control')]).toEqual([404, absent, 'no-store']);
      }
    });

    it('of which the blob store has lost a file is gone as far as that goes', async () => {
      const { w, film, ...rest } = await given();
      await using _ = w;
      const ask = asking(w, rest.url());
      await w.blobs.delete([film.video.key]);
      expect((await ask('seg0.mp4')).code).toBe(absent);
      // Its head is there, so the answer begins; it breaks off, and no client takes it for the whole.
      await expect(ask('source.mp4')).rejects.toThrow('is gone');
    });

    it('of which the blob store has lost the index is one file alone', async () => {
      const { w, film, ...rest } = await given();
      await using _ = w;
      const ask = asking(w, rest.url());
      await w.blobs.delete([film.index.key]);
      for (const name of ['index.m3u8', 'source.m3u8', 'seg0.mp4'])
        expect((await ask(name)).code).toBe(absent);
      expect((await ask('source.mp4')).status).toBe(200);
    });

    it.each([...strangers, '%00', 'a'.repeat(40), '..%2f..'])('is not even looked for by %s', async (id) => {
      const { w, lookups, ...rest } = await given();
      await using _ = w;
      const { code } = await asking(w, rest.url(id))('index.m3u8');
      expect([code, lookups]).toEqual([absent, []]);
    });

    it('goes on while the store does not answer, when it was watched before', async () => {
      const { w, fail, ...rest } = await given();
      await using _ = w;
      const ask = asking(w, rest.url());
      expect((await ask('seg0.mp4')).status).toBe(200);
      fail(new Fault('store.unknown', { status: 503, message: 'away' }));
      for (const name of ['index.m3u8', 'source.m3u8', 'seg3.mp4'])
        expect((await ask(name)).status).toBe(200);
    });

    it('that was not watched before is 503 then, for pages of every origin', async () => {
      const { w, fail, ...rest } = await given();
      await using _ = w;
      fail(new Fault('store.unknown', { status: 503, message: 'away' }));
      const { status, headers } = await asking(w, rest.url())('seg0.mp4');
      expect([status, headers.get('access-control-allow-origin')]).toEqual([503, '*']);
    });

    it('whose index is broken is our mistake and harms nobody else', async () => {
      const { w, film, ...rest } = await given();
      await using _ = w;
      const ask = asking(w, rest.url());
      await w.blobs.put(film.index.key, Buffer.alloc(film.index.size, 0x7f));
      const { status, code } = await ask('index.m3u8');
      expect([status, code]).toEqual([500, 'internal']);
      expect((await ask('source.mp4')).status).toBe(200);
    });
  });
}

/** Asks for files below the address of a film. */
export function asking(w: World, url: string) {
  return async (name: string, init: RequestInit = {}) => {
    const answer: Response = await w.app.handle(new Request(`${url}/${name}`, init));
    const bytes = Buffer.from(await answer.bytes());
    const isError = answer.headers.get('content-type') === 'application/json';
    return {
      status: answer.status,
      headers: answer.headers,
      bytes,
      code: isError && bytes.length > 0 ? JSON.parse(bytes.toString()).code : undefined,
    };
  };
}

/** Keys of the blobs that are read from now on. */
function readsOf({ blobs }: World): string[] {
  const { get } = blobs;
  const reads: string[] = [];
  (blobs as { get: typeof get }).get = (key, asked) => {
    reads.push(key);
    return get(key, asked);
  };
  return reads;
}
