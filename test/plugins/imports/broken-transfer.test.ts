import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { receiver } from '../../outbound/kit.ts';
import { answer, breaking, film, headerOf, rangeOf, studio, tag } from './transfer-kit.ts';

const other = Buffer.from(film).reverse();
const dates = { 'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT', date: 'Thu, 01 Jan 2026 00:00:10 GMT' };

describe('a connection that breaks off', () => {
  it.each([
    ['a strong ETag', { etag: tag }, tag],
    ['a date', dates, dates['last-modified']],
    ['a date beside a weak ETag', { etag: 'W/"one"', ...dates }, dates['last-modified']],
  ])('is followed by one that brings the rest, by %s', async (_, headers, validator) => {
    await using server = await breaking({ breaks: 2, headers });
    await using s = await studio();
    expect((await s.fetch(server.url)).equals(film)).toBe(true);
    expect(server.requests.map((request) => headerOf(request, 'range'))).toEqual([
      ...[undefined, 'bytes=100000-', 'bytes=200000-'],
    ]);
    expect(server.requests.slice(1).map((request) => headerOf(request, 'if-range'))).toEqual([
      ...[validator, validator],
    ]);
    expect(server.sent()).toBe(film.length);
    expect(s.clock.pauses).toEqual([250, 250]);
    expect(s.told).toEqual([...s.told].sort((a, b) => a - b));
  });

  it('brings the rest of what came in chunks, too', async () => {
    let count = 0;
    await using server = await receiver((request) => {
      const at = rangeOf(request);
      const headers = { etag: tag, 'transfer-encoding': 'chunked' };
      const range = { ...headers, 'content-range': `bytes ${at}-${film.length - 1}/${film.length}` };
      const body = film.subarray(at || 0);
      const size = Buffer.from(`${body.length.toString(16)}\r\n`);
      if (count++ > 0) {
        const all = Buffer.concat([size, body, Buffer.from('\r\n0\r\n\r\n')]);
        return answer(206, { body: all, length: null, headers: range });
      }
      const part = Buffer.concat([size, body.subarray(0, 50_000)]);
      request.socket.end(answer(200, { body: part, length: null, headers }));
      return undefined;
    });
    await using s = await studio();
    expect((await s.fetch(server.url)).equals(film)).toBe(true);
  });

  it.each<[string, Record<string, string>]>([
    ['nothing', {}],
    ['a weak ETag alone', { etag: 'W/"one"' }],
    ['a date of the same second', { ...dates, date: dates['last-modified'] }],
    ['a date without the time of the answer', { 'last-modified': dates['last-modified'] }],
  ])('is followed by the whole where the bytes are named by %s', async (_, headers) => {
    await using server = await breaking({ headers });
    await using s = await studio();
    expect((await s.fetch(server.url)).equals(film)).toBe(true);
    expect(server.requests.map((request) => headerOf(request, 'range'))).toEqual([undefined, undefined]);
  });

  it('is followed by the whole from a server that knows no ranges', async () => {
    await using server = await breaking({ rest: () => answer(200, { body: film, headers: { etag: tag } }) });
    await using s = await studio();
    expect((await s.fetch(server.url)).equals(film)).toBe(true);
    expect(server.requests).toHaveLength(2);
  });

  it('is followed by the other file when it has changed meanwhile', async () => {
    const changed = other.subarray(0, 200_000);
    await using server = await breaking({
      rest: () => answer(200, { body: changed, headers: { etag: '"two"' } }),
    });
    await using s = await studio();
    expect((await s.fetch(server.url)).equals(changed)).toBe(true);
  });

  it.each<[string, number, (at: number) => Record<string, string>]>([
    [
      'another place',
      206,
      (at) => ({ 'content-range': `bytes ${at - 1}-${film.length - 1}/${film.length}` }),
    ],
    ['no place', 206, () => ({})],
    ['a unit of its own', 206, (at) => ({ 'content-range': `lines ${at}-2/3` })],
    ['another length', 206, (at) => ({ 'content-range': `bytes ${at}-${film.length}/${film.length + 1}` })],
    ['another tag', 206, (at) => ({ ...ranged(at), etag: '"two"' })],
    ['another encoding', 206, (at) => ({ ...ranged(at), 'content-encoding': 'gzip' })],
    ['nothing satisfiable', 416, () => ({ 'content-range': 'bytes */5' })],
  ])('is not mixed with what is not its rest: %s', async (_, status, headersOf) => {
    await using server = await breaking({
      rest: (_, at) => answer(status, { body: other.subarray(at), headers: { etag: tag, ...headersOf(at) } }),
    });
    await using s = await studio();
    expect((await s.fetch(server.url)).equals(film)).toBe(true);
    expect(server.requests.map((request) => headerOf(request, 'range'))).toEqual([
      ...[undefined, 'bytes=100000-', undefined],
    ]);
  });

  it('is followed by another where the rest is shorter than the file', async () => {
    let count = 0;
    await using server = await breaking({
      rest(_, at) {
        const end = count++ === 0 ? at + 1000 : film.length;
        const headers = { etag: tag, 'content-range': `bytes ${at}-${end - 1}/${film.length}` };
        return answer(206, { body: film.subarray(at, end), headers });
      },
    });
    await using s = await studio();
    expect((await s.fetch(server.url)).equals(film)).toBe(true);
    expect(server.sent()).toBe(film.length);
  });

  it('is tried again after trouble, as the other side asks, and not when it says no', async () => {
    const answers = [
      () => answer(503, { headers: { 'retry-after': 3 } }),
      () => answer(500),
      (at: number) => answer(206, { body: film.subarray(at), headers: { etag: tag, ...ranged(at) } }),
    ];
    await using server = await breaking({ rest: (_, at) => answers.shift()?.(at) ?? answer(500) });
    await using s = await studio();
    expect((await s.fetch(server.url)).equals(film)).toBe(true);
    expect(s.clock.pauses).toEqual([250, 3000, 1000]);
    for (const [status, headers, code] of [
      [403, {}, 'import.failed'],
      // Longer than a try waits: that is left to the next one.
      [503, { 'retry-after': 30 }, 'import.broken'],
    ] as const) {
      await using server = await breaking({ rest: () => answer(status, { headers }) });
      await expect(s.fetch(server.url)).rejects.toMatchObject({ code });
      expect(server.requests).toHaveLength(2);
    }
  });

  it('too often ends the try, also where the length is a lie', async () => {
    await using server = await receiver(({ socket }) => {
      socket.end(answer(200, { body: film, length: film.length + 5 }));
      return undefined;
    });
    await using s = await studio();
    await expect(s.fetch(server.url, { limits: { importBreaks: 3 } })).rejects.toMatchObject({
      ...{ code: 'import.broken', retry: true, message: expect.stringContaining('broke off 4 times') },
    });
    expect(server.requests).toHaveLength(4);
  });

  it('waits longer each time that nothing comes', async () => {
    await using server = await breaking({ rest: () => answer(500) });
    await using s = await studio();
    await expect(s.fetch(server.url)).rejects.toMatchObject({ code: 'import.broken' });
    expect(s.clock.pauses).toEqual([250, 500, 1000, 2000, 4000, ...Array(15).fill(8000)]);
  });

  it('is noticed by its silence', async () => {
    let count = 0;
    await using server = await receiver((request) => {
      const at = rangeOf(request);
      if (count++ === 0)
        return answer(200, { body: film.subarray(0, 5000), length: film.length, headers: { etag: tag } });
      return answer(206, { body: film.subarray(at), headers: { etag: tag, ...ranged(at) } });
    });
    await using s = await studio();
    expect((await s.fetch(server.url, { limits: { importSilence: 400 } })).equals(film)).toBe(true);
    expect(headerOf(server.requests[1], 'range')).toBe('bytes=5000-');
  });
});

/** For a rest that is as long as it should be. */
function ranged(at: number): Record<string, string> {
  return { 'content-range': `bytes ${at}-${film.length - 1}/${film.length}` };
}

describe('a file that comes as gzip although nobody asked for that', () => {
  const packed = gzipSync(film);
  const headers = { 'content-encoding': 'gzip', etag: tag };

  it('is unpacked, also over two connections', async () => {
    await using server = await receiver(() => answer(200, { body: packed, headers }));
    await using broken = await breaking({ file: packed, after: 1000, headers });
    await using s = await studio();
    expect((await s.fetch(server.url)).equals(film)).toBe(true);
    expect((await s.fetch(broken.url)).equals(film)).toBe(true);
    expect(headerOf(broken.requests[1], 'range')).toBe('bytes=1000-');
  });

  it.each([
    ['is none', film, 'gzip', /cannot be unpacked/],
    ['ends too soon', packed.subarray(0, -20), 'gzip', /cannot be unpacked/],
    ['is a bomb', gzipSync(Buffer.alloc(100_000_000)), 'x-gzip', /20 times as large/],
    ['is something else', film, 'br', /Content-Encoding/],
    ['is so twice', packed, 'gzip, gzip', /Content-Encoding/],
  ])('and %s cannot be had', async (_, body, encoding, message) => {
    await using server = await receiver(() =>
      answer(200, { body, headers: { 'content-encoding': encoding } }),
    );
    await using s = await studio();
    await expect(s.fetch(server.url, { most: 1e9 })).rejects.toMatchObject({
      ...{ code: 'import.failed', retry: false, message: expect.stringMatching(message) },
    });
  });

  it('is held against the largest size as it is when unpacked', async () => {
    await using server = await receiver(() => answer(200, { body: packed, headers }));
    await using s = await studio();
    await expect(s.fetch(server.url, { most: film.length - 1 })).rejects.toMatchObject({
      ...{ code: 'import.failed', message: expect.stringContaining('plugins.assets.maxImportSize') },
    });
    expect((await s.fetch(server.url, { most: film.length })).equals(film)).toBe(true);
  });
});
