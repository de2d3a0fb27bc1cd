import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Fault } from '../../core/base/fault.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Intake } from '../../core/ports/intake.ts';
import { longestRetryAfter } from '../../core/ports/outbound.ts';
import { type DownloadOptions, download } from '../../plugins/assets/imports/download.ts';
import { type Source, sourceOf } from '../../plugins/assets/imports/source.ts';
import { transferLimits } from '../../plugins/assets/imports/transfer.ts';
import { systemClock } from '../../runtime/drivers/clock/system.ts';
import { diskIntake } from '../../runtime/drivers/intake/intake.ts';
import { client, type Received, receiver, said } from '../outbound/kit.ts';

const film = Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * 7919) % 251));
const other = Buffer.from(film).reverse();
const tag = '"one"';
const dates = { 'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT', date: 'Thu, 01 Jan 2026 00:00:10 GMT' };

/** Time is short here: pauses are over at once, and kept; what lasts longer is never over. */
function hastyClock(): Clock & { readonly pauses: number[] } {
  const clock = systemClock();
  const pauses: number[] = [];
  let asked = clock.now();
  return {
    pauses,
    now() {
      asked = clock.now();
      return asked;
    },
    at(due, action) {
      // From when whoever waits took the time, however long ago that was.
      const wait = due - asked;
      if (wait > transferLimits.importPause) return () => {};
      pauses.push(wait);
      return clock.at(clock.now(), action);
    },
  };
}

/** What takes files in from the servers of a test. */
async function studio(options: { lookup?: () => Promise<string[]>; intake?: Pick<Intake, 'receive'> } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-import-'));
  const own = diskIntake({ folder, clock: systemClock(), reserve: 0 });
  await own.open();
  const clock = hastyClock();
  const outbound = client(options.lookup ? { lookup: options.lookup } : {});
  const ending = new AbortController();
  const told: number[] = [];
  const spool = () => readdir(folder);
  return {
    ...{ clock, ending, told, spool },
    async fetch(
      from: string | Source,
      given: Partial<Omit<DownloadOptions, 'limits'>> & { limits?: Partial<DownloadOptions['limits']> } = {},
    ) {
      const { limits, ...rest } = given;
      const file = await download(typeof from === 'string' ? (sourceOf(from) as Source) : from, {
        ...{ outbound, clock, intake: options.intake ?? own, account: 'a', signal: ending.signal },
        ...{ most: 10_000_000, time: 3_600_000, progress: (fraction: number) => void told.push(fraction) },
        ...rest,
        limits: { ...transferLimits, ...limits },
      });
      const bytes = await readFile(file.path);
      expect(file.sha256).toBe(createHash('sha256').update(bytes).digest('hex'));
      await file.discard();
      expect(await spool()).toEqual([]);
      return bytes;
    },
    async [Symbol.asyncDispose]() {
      outbound.close();
      expect(await spool()).toEqual([]);
      await own.close();
      await rm(folder, { recursive: true });
    },
  };
}

const headerOf = ({ head }: Received, name: string) =>
  new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1].trim();
const rangeOf = (request: Received) =>
  Number(/bytes=(\d+)-$/.exec(headerOf(request, 'range') ?? '')?.[1] ?? Number.NaN);

function answer(
  status: number,
  { body = Buffer.alloc(0), length = body.length, headers = {} }: Answer = {},
): Buffer {
  const lines = Object.entries({ ...(length !== null && { 'content-length': length }), ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status} Said\r\n${head}\r\n`), body]);
}
interface Answer {
  body?: Buffer;
  /** null: nothing is said. */
  length?: number | null;
  headers?: Record<string, string | number>;
}

/**
 * A server that has a film, and closes each connection after so many bytes of it, until it has done so `breaks` times. What it has of
 * the rest is up to `rest`; by default it does as it should.
 */
async function breaking(options: {
  breaks?: number;
  after?: number;
  headers?: Record<string, string>;
  file?: Buffer;
  rest?(request: Received, at: number): Buffer;
}) {
  const { breaks = 1, after = 100_000, headers = { etag: tag }, file = film } = options;
  let sent = 0;
  let count = 0;
  const partial = (_: Received, at: number) =>
    answer(206, {
      body: file.subarray(at),
      headers: { ...headers, 'content-range': `bytes ${at}-${file.length - 1}/${file.length}` },
    });
  const server = await receiver((request) => {
    const at = rangeOf(request);
    const all = Number.isNaN(at)
      ? answer(200, { body: file, headers })
      : (options.rest ?? partial)(request, at);
    const head = all.indexOf('\r\n\r\n') + 4;
    const isCut = count++ < breaks;
    const given = isCut ? all.subarray(0, head + after) : all;
    sent += given.length - head;
    if (!isCut) return given;
    request.socket.end(given);
    return undefined;
  });
  return Object.assign(server, { sent: () => sent });
}

describe('a file of another server', () => {
  it('comes whole, with its progress', async () => {
    await using server = await receiver(() => answer(200, { body: film }));
    await using s = await studio();
    expect((await s.fetch(`${server.url}/film.mp4`)).equals(film)).toBe(true);
    expect(s.told.at(-1)).toBe(1);
    expect(s.told).toEqual([...s.told].sort((a, b) => a - b));
    expect(headerOf(server.requests[0], 'accept-encoding')).toBe('identity');
  });

  it.each([
    ['in chunks', { 'transfer-encoding': 'chunked' }],
    ['until the connection is closed', {}],
  ])('without a length comes whole, %s', async (_, headers) => {
    await using server = await receiver(({ socket }) => {
      const isChunked = 'transfer-encoding' in headers;
      const body = isChunked
        ? Buffer.concat([Buffer.from(`${film.length.toString(16)}\r\n`), film, Buffer.from('\r\n0\r\n\r\n')])
        : film;
      socket.end(answer(200, { body, length: null, headers }));
      return undefined;
    });
    await using s = await studio();
    expect((await s.fetch(server.url)).equals(film)).toBe(true);
    expect(s.told).toEqual([]);
  });

  it('may be empty', async () => {
    await using server = await receiver(() => answer(200));
    await using s = await studio();
    expect(await s.fetch(server.url)).toHaveLength(0);
  });

  it('is asked for with the user and password of its URL, which no other server is shown', async () => {
    await using target = await receiver(() => answer(200, { body: film }));
    await using server = await receiver((request) =>
      said(302, { headers: { location: request.head.includes('/first') ? '/second' : target.url } }),
    );
    await using s = await studio();
    await s.fetch(`${server.url.replace('//', '//us%20er:p%40ss@')}/first?signature=x#part`);
    const basic = `Basic ${Buffer.from('us er:p@ss').toString('base64')}`;
    expect(server.requests.map((request) => headerOf(request, 'authorization'))).toEqual([basic, basic]);
    expect(server.requests[0].head).toMatch(/^GET \/first\?signature=x HTTP/);
    expect(headerOf(target.requests[0], 'authorization')).toBeUndefined();
  });

  it('is followed over three redirects and no more', async () => {
    await using server = await receiver(({ head }) => {
      const left = Number(/^GET \/(\d)/.exec(head)?.[1]);
      return left === 0 ? answer(200, { body: film }) : said(302, { headers: { location: `/${left - 1}` } });
    });
    await using s = await studio();
    await s.fetch(`${server.url}/3`);
    await expect(s.fetch(`${server.url}/4`)).rejects.toMatchObject({ code: 'import.failed', retry: false });
  });

  it.each(['http://169.254.169.254/latest/meta-data', 'http://10.0.0.1/', 'http://[::ffff:10.0.0.1]/'])(
    'is not had by a redirect to %s',
    async (location) => {
      await using server = await receiver(() => said(302, { headers: { location } }));
      await using s = await studio();
      await expect(s.fetch(server.url)).rejects.toMatchObject({
        ...{ code: 'import.failed', retry: false },
        message: expect.stringMatching(
          /^The file could not be fetched: .*which outbound\.allow does not open\.$/,
        ),
      });
    },
  );

  it('is not had from a name that stands for another address when it is asked again', async () => {
    await using server = await breaking({});
    const answers = [['127.0.0.1'], ['10.0.0.1']];
    await using s = await studio({ lookup: async () => answers.shift() ?? [] });
    await expect(s.fetch(`http://films.example:${server.port}/`)).rejects.toMatchObject({
      ...{ code: 'import.failed', message: expect.stringContaining('which outbound.allow does not open') },
    });
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    [401, /user and a password/],
    [403, /answered 403/],
    [
      404,
      /^The file could not be fetched: http:\/\/127\.0\.0\.1:\d+ answered 404 \(there is no such file\)\.$/,
    ],
    [410, /gone/],
    [204, /answered 204/],
    [206, /answered 206/],
    [300, /answered 300/],
    [418, /answered 418/],
  ])('that is answered with %i cannot be had', async (status, message) => {
    await using server = await receiver(() => answer(status));
    await using s = await studio();
    await expect(s.fetch(`${server.url}/secret`)).rejects.toMatchObject({
      ...{ code: 'import.failed', retry: false, message: expect.stringMatching(message) },
    });
    await expect(s.fetch(`${server.url}/secret`)).rejects.not.toThrow('secret');
  });

  it.each([408, 425, 429, 500, 502, 503, 504])('that is answered with %i is tried again', async (status) => {
    await using server = await receiver(() => answer(status));
    await using s = await studio();
    await expect(s.fetch(server.url)).rejects.toMatchObject({ code: 'import.broken', retry: true });
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ['7', 7],
    ['a date', 20],
    ['86400', longestRetryAfter / 1000],
    [new Date(0).toUTCString(), 0],
    ['soon', undefined],
  ])('says when it is to be asked for again, and does not wait: Retry-After %s', async (after, wait) => {
    const date = () => new Date(systemClock().now() + 20_500).toUTCString();
    await using server = await receiver(() =>
      said(503, { headers: { 'retry-after': after === 'a date' ? date() : after } }),
    );
    await using s = await studio();
    const { code, retryAfter } = (await s.fetch(server.url).catch((error) => error)) as Fault;
    expect([code, s.clock.pauses]).toEqual(['import.broken', []]);
    // A date is rounded to seconds, and they pass here.
    if (wait === undefined) expect(retryAfter).toBe(undefined);
    else expect(Math.abs((retryAfter ?? -9) - wait)).toBeLessThanOrEqual(1);
  });

  it('that cannot be reached is tried again', async () => {
    const closed = await receiver(() => undefined);
    await closed[Symbol.asyncDispose]();
    await using s = await studio({ lookup: () => Promise.reject(new Error('no such name')) });
    for (const url of [closed.url, 'http://films.example/'])
      await expect(s.fetch(url)).rejects.toMatchObject({ code: 'import.broken', retry: true });
  });

  it('that is too large is not read when it says so, and no further when it does not', async () => {
    let written = 0;
    await using server = await receiver(({ head, socket }) => {
      if (head.startsWith('GET /honest')) return answer(200, { length: 1_000_001 });
      const piece = Buffer.alloc(65_536);
      const more = (): void => {
        if (!socket.writable) return;
        written += piece.length;
        socket.write(piece, more);
      };
      socket.write('HTTP/1.1 200 OK\r\n\r\n', more);
      return undefined;
    });
    await using s = await studio();
    const message =
      'The file could not be fetched: it is larger than 1000000 bytes (plugins.assets.maxImportSize).';
    for (const path of ['honest', 'endless'])
      await expect(s.fetch(`${server.url}/${path}`, { most: 1_000_000 })).rejects.toMatchObject({
        ...{ code: 'import.failed', message },
      });
    expect(written).toBeLessThan(32_000_000);
  });

  it('is read no faster than it is written down', async () => {
    let written = 0;
    await using server = await receiver(({ socket }) => {
      const piece = Buffer.alloc(65_536);
      const more = (): void => {
        if (!socket.writable) return;
        written += piece.length;
        socket.write(piece, more);
      };
      socket.write('HTTP/1.1 200 OK\r\n\r\n', more);
      return undefined;
    });
    const halted = Promise.withResolvers<void>();
    const intake: Pick<Intake, 'receive'> = {
      async receive(body, { signal }) {
        const reader = (body as ReadableStream<Uint8Array>).getReader();
        await reader.read();
        halted.resolve();
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
    };
    await using s = await studio({ intake });
    const fetched = s.fetch(server.url, { most: 1e12 });
    fetched.catch(() => {});
    await halted.promise;
    for (let same = 0, before = -1; same < 200; same = written === before ? same + 1 : 0) {
      before = written;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(written).toBeLessThan(32_000_000);
    s.ending.abort(new Error('enough'));
    await expect(fetched).rejects.toThrow('enough');
  });

  it('is given up at once when nobody wants it any more', async () => {
    await using server = await receiver(() => answer(200, { body: film.subarray(0, 1000), length: 5000 }));
    await using s = await studio();
    const fetched = s.fetch(server.url, { progress: () => s.ending.abort(new Error('cancelled')) });
    await expect(fetched).rejects.toThrow('cancelled');
    while (server.sockets.size > 0) await new Promise((resolve) => setImmediate(resolve));
    await expect(s.fetch(server.url)).rejects.toThrow('cancelled');
    expect(server.requests).toHaveLength(1);
  });
});

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

describe('a file that takes too long', () => {
  it('by its trickle ends the try', async () => {
    await using server = await receiver(({ socket }) => {
      socket.write(answer(200, { length: 1_000_000 }));
      const time = systemClock();
      const more = (): void => {
        if (socket.writable) time.at(time.now() + 2, () => socket.write('x', more));
      };
      more();
      return undefined;
    });
    await using s = await studio();
    await expect(
      s.fetch(server.url, { limits: { importLook: 30, importLeast: 10_000 } }),
    ).rejects.toMatchObject({
      ...{ code: 'import.broken', message: expect.stringContaining('comes too slowly') },
    });
  });

  it('in all is not tried again', async () => {
    await using server = await receiver(() => answer(200, { body: film.subarray(0, 10), length: 1_000_000 }));
    await using s = await studio();
    await expect(s.fetch(server.url, { time: 50 })).rejects.toMatchObject({
      ...{ code: 'import.failed', message: expect.stringContaining('plugins.assets.importTime') },
    });
  });
});

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

describe('what is shown of a URL, and becomes its name', () => {
  it.each([
    ['https://a.example/films/friday.mp4', 'https://a.example/films/friday.mp4', 'friday.mp4'],
    ['https://u:p@a.example/x.mp4?sig=s#f', 'https://***@a.example/x.mp4?sig=***', 'x.mp4'],
    ['https://a.example/caf%C3%A9%20night.mp4', 'https://a.example/caf%C3%A9%20night.mp4', 'café night.mp4'],
    ['https://a.example/%ff.mp4', 'https://a.example/%ff.mp4', '%ff.mp4'],
    ['https://a.example/%00%E2%80%AEa%0Ab', 'https://a.example/%00%E2%80%AEa%0Ab', 'a b'],
    ['https://a.example/', 'https://a.example/', 'a.example'],
    ['https://a.example/watch/?v=2', 'https://a.example/watch/?v=2', 'a.example'],
    [`https://a.example/${'x'.repeat(300)}`, `https://a.example/${'x'.repeat(300)}`, 'x'.repeat(200)],
  ])('%s', (url, shown, name) => {
    expect(sourceOf(url)).toMatchObject({ shown, name });
  });
});
