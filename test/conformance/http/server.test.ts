import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listen } from '../../../runtime/http/listen.ts';
import { silentLog } from '../../kit/silent-log.ts';

/** What handlers saw, in order. */
const seen: string[] = [];
const isLeft = Promise.withResolvers<void>();
const isCancelled = Promise.withResolvers<void>();
let server: Awaited<ReturnType<typeof listen>>;

beforeAll(async () => {
  server = await listen({ fetch: answer }, { host: '127.0.0.1', port: 0, log: silentLog });
});
afterAll(() => server.stop());

async function answer(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname === '/never') {
    request.signal.addEventListener('abort', () => isLeft.resolve());
    return new Promise(() => {});
  }
  if (pathname === '/unread') return new Response('unread', { status: 401 });
  const body = await request.text();
  seen.push(`${request.method} ${pathname} ${body}`);
  if (pathname === '/slow') await Bun.sleep(20);
  if (pathname.startsWith('/file/')) return file(Number(pathname.slice(6)));
  if (pathname === '/chunks') return new Response(pieces(3), { headers: { 'transfer-encoding': 'chunked' } });
  if (pathname === '/short') return new Response(pieces(1), { headers: { 'content-length': '100' } });
  if (pathname === '/endless') {
    const cancel = () => isCancelled.resolve();
    const pull = (controller: ReadableStreamDefaultController) => controller.enqueue(new Uint8Array(65_536));
    const body = new ReadableStream({ pull, cancel }, { highWaterMark: 0 });
    return new Response(body, { headers: { 'content-length': String(2 ** 40) } });
  }
  return new Response(`${request.method} ${pathname} ${body}`);
}

function pieces(count: number): ReadableStream {
  let left = count;
  return new ReadableStream({
    async pull(controller) {
      await Bun.sleep(1);
      if (left === 0) return controller.close();
      left -= 1;
      controller.enqueue(new TextEncoder().encode('piece'));
    },
  });
}

function file(size: number): Response {
  let at = 0;
  const body = new ReadableStream({
    async pull(controller) {
      await Bun.sleep(0);
      if (at === size) return controller.close();
      const bytes = new Uint8Array(Math.min(100_000, size - at)).fill(65);
      at += bytes.length;
      controller.enqueue(bytes);
    },
  });
  return new Response(body, { headers: { 'content-length': String(size) } });
}

/** All that comes back for these bytes, until the server closes or the answer to the request behind them has come. */
function talk(...sent: string[]): Promise<string> {
  return new Promise((resolve) => {
    let got = '';
    const client = connect(server.port, '127.0.0.1', () => {
      for (const text of sent) client.write(text);
    });
    client.setEncoding('latin1');
    client.on('data', (text) => {
      got += text;
      if (got.includes('GET /last ')) client.destroy();
    });
    client.on('error', () => {});
    client.on('close', () => resolve(got.replaceAll(ofAll, '')));
  });
}

/** Headers that every answer has. */
const ofAll =
  /(?:date: .*|x-content-type-options: nosniff|content-security-policy: frame-ancestors 'none')\r\n/g;
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const last = get('/last');
const post = (headers: string, body: string) => `POST /post HTTP/1.1\r\nHost: a\r\n${headers}\r\n\r\n${body}`;
const statuses = (text: string) =>
  [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));

describe('an answer', () => {
  it('that names its length has it, however long it is, and the connection goes on', async () => {
    for (const size of [1, 100_000, 3_000_000]) {
      const got = await talk(get(`/file/${size}`), last);
      expect(got.slice(0, got.indexOf('\r\n\r\n'))).toBe(`HTTP/1.1 200 OK\r\ncontent-length: ${size}`);
      expect(got.match(/A+(?=HTTP)/)?.[0]).toHaveLength(size);
    }
  });

  it('that is in memory has its length', async () => {
    expect(await talk(last)).toBe('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nGET /last ');
  });

  it('of unknown length comes in chunks', async () => {
    const got = await talk(get('/chunks'), last);
    expect(got).toContain(
      'transfer-encoding: chunked\r\n\r\n5\r\npiece\r\n5\r\npiece\r\n5\r\npiece\r\n0\r\n\r\nHTTP/1.1',
    );
  });

  it('that is shorter than it said breaks the connection', async () => {
    expect(await talk(get('/short'), last)).toBe('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npiece');
  });

  it('comes in the order of the requests', async () => {
    const got = await talk(get('/slow') + get('/file/3') + get('/b') + last);
    expect(got.match(/GET \/\w+|AAA/g)).toEqual(['GET /slow', 'AAA', 'GET /b', 'GET /last']);
  });

  it('nobody waits for any more aborts the request, and is read no further', async () => {
    const never = connect(server.port, '127.0.0.1', () => never.write(get('/never'), () => never.destroy()));
    const endless = connect(server.port, '127.0.0.1', () => endless.write(get('/endless')));
    endless.once('data', () => endless.destroy());
    await Promise.all([isLeft.promise, isCancelled.promise]);
  });
});

describe('a body', () => {
  it('is read by length, in chunks, and in pieces of any size', async () => {
    const chunked = post('Transfer-Encoding: chunked', '3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: z\r\n\r\n');
    for (const request of [post('Content-Length: 5', 'abcde'), chunked]) {
      expect(await talk(request + last)).toContain('POST /post abcdeHTTP/1.1 200');
      expect(await talk(...request, last)).toContain('POST /post abcdeHTTP/1.1 200');
    }
  });

  it('that is not read leaves the answer whole, and closes the connection', async () => {
    const head = 'POST /unread HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n';
    const got = await talk(head, 'x'.repeat(500_000));
    expect(got).toContain('HTTP/1.1 401 Unauthorized\r\n');
    expect(got).toMatch(/connection: close\r\n.*unread$/s);
  });

  it('is asked for when it is wanted', async () => {
    const expecting = 'Expect: 100-continue\r\nContent-Length: 5';
    const got = await new Promise<string>((resolve) => {
      let text = '';
      const client = connect(server.port, '127.0.0.1', () => client.write(post(expecting, '')));
      client.setEncoding('latin1');
      client.on('data', (piece) => {
        text += piece;
        if (text === 'HTTP/1.1 100 Continue\r\n\r\n') client.write('abcde');
        if (text.endsWith('abcde')) client.destroy();
      });
      client.on('close', () => resolve(text));
    });
    expect(statuses(got)).toEqual([100, 200]);
  });
});

describe('what could be read as two requests is refused, and nothing behind it is answered', () => {
  const smuggled = get('/smuggled');
  const cases: [name: string, text: string, status: number][] = [
    ['a length beside chunks', post('Content-Length: 5\r\nTransfer-Encoding: chunked', '0\r\n\r\n'), 400],
    ['two lengths', post('Content-Length: 5\r\nContent-Length: 6', 'abcdef'), 400],
    ['the same length twice', post('Content-Length: 3\r\nContent-Length: 3', 'abc'), 400],
    ['a list of lengths', post('Content-Length: 3, 3', 'abc'), 400],
    ['a signed length', post('Content-Length: +3', 'abc'), 400],
    ['a length with an exponent', post('Content-Length: 1e1', 'abc'), 400],
    ['a length beyond all bounds', post('Content-Length: 99999999999999999999', ''), 400],
    ['another coding', post('Transfer-Encoding: gzip, chunked', '0\r\n\r\n'), 400],
    ['a coding behind chunked', post('Transfer-Encoding: chunked, identity', '0\r\n\r\n'), 400],
    ['a blank before the colon', post('Transfer-Encoding : chunked', '0\r\n\r\n'), 400],
    ['a folded line', 'GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n', 400],
    ['bare line feeds', 'GET / HTTP/1.1\nHost: a\n\n', 400],
    ['a bare line feed', 'GET / HTTP/1.1\r\nHost: a\r\nX: a\nContent-Length: 9\r\n\r\n', 400],
    ['a bare carriage return', 'GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n', 400],
    ['a zero byte', 'GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n', 400],
    ['no host', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['two hosts', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n', 400],
    ...['', 'a/other?', 'a\\other?', 'a?', 'a#', 'a@b'].map((host): [string, string, number] => [
      `the host ${JSON.stringify(host)}`,
      `GET /post HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
      400,
    ]),
    ...['http:///post', 'http://a@b/post', 'http://?/post'].map((target): [string, string, number] => [
      `the target ${target}`,
      `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`,
      400,
    ]),
    ...['/a\\..\\post', '/a/../post', '/./post', '/a/%2e%2E/post', '/a/..', '/post#a'].map(
      (target): [string, string, number] => [
        `the target ${target}, which others may take for another path`,
        `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`,
        400,
      ],
    ),
    ['a target that is no path', 'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['a method of no route', 'CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n', 405],
    ['another version', 'GET / HTTP/2.0\r\nHost: a\r\n\r\n', 505],
    ['an expectation nobody knows', post('Expect: a\r\nContent-Length: 1', 'a'), 417],
    ['too long a head', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(17_000)}\r\n\r\n`, 431],
    ['too long a path', get(`/${'a'.repeat(17_000)}`), 414],
    ['too many headers', `GET / HTTP/1.1\r\nHost: a\r\n${'X: a\r\n'.repeat(300)}\r\n`, 400],
  ];
  it.each(cases)('%s', async (_, text, status) => {
    expect(statuses(await talk(text + smuggled))).toEqual([status]);
    expect(seen).not.toContain('GET /smuggled ');
  });

  it.each(['zz\r\nabc\r\n', '3\nabc\r\n', '3\r\nabcd\r\n', '-1\r\n', '3\r\nabc\n0\n\n', 'fffffffff\r\n'])(
    'the chunk %j',
    async (chunk) => {
      const got = await talk(post('Transfer-Encoding: chunked', chunk + smuggled));
      expect(statuses(got)).toEqual([500]);
      expect(seen).not.toContain('GET /smuggled ');
      // Nor when what comes later would be a fine end of a body.
      const later = await talk(post('Transfer-Encoding: chunked', chunk), `0\r\n\r\n${smuggled}`);
      expect(statuses(later)).toEqual([500]);
    },
  );
});
