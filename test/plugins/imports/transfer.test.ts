import { describe, expect, it } from 'vitest';
import type { Fault } from '../../../core/base/fault.ts';
import type { Intake } from '../../../core/ports/intake.ts';
import { longestRetryAfter } from '../../../core/ports/outbound.ts';
import { sourceOf } from '../../../plugins/assets/imports/source.ts';
import { systemClock } from '../../../runtime/drivers/clock/system.ts';
import { receiver, said } from '../../outbound/kit.ts';
import { answer, breaking, film, headerOf, studio } from './transfer-kit.ts';

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
