import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listen } from '../../../runtime/http/listen.ts';
import { allPlugins } from '../../kit/all-plugins.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { bootstrapKey, type World, world } from '../../kit/world.ts';

/** All routes of the program behind a real socket: what two readers could take for different requests. */
let w: World;
let server: Awaited<ReturnType<typeof listen>>;
/** Where the file of an asset is sent to. */
let upload: string;
const failures: unknown[] = [];
beforeAll(async () => {
  w = await world({ plugins: await allPlugins() });
  const log = {
    ...silentLog,
    error: (message: string, fields?: object) => void failures.push([message, fields]),
  };
  const { body } = await w.request('POST', '/api/asset/request-upload', { body: { name: 'film' } });
  upload = body.url.replace(/^https?:\/\/[^/]+/, '');
  server = await listen(w.app, { host: '127.0.0.1', port: 0, log });
});
afterAll(async () => {
  await server.stop();
  await w[Symbol.asyncDispose]();
});

/** All that comes back for these bytes until the server closes, or has answered at `/health/live` so often. */
function talk(sent: string | string[], live = 1): Promise<string> {
  return new Promise((resolve) => {
    let got = '';
    const client = connect(server.port, '127.0.0.1', async () => {
      for (const text of [sent].flat()) {
        client.write(Buffer.from(text, 'latin1'));
        await new Promise((written) => setImmediate(written));
      }
    });
    client.setEncoding('latin1');
    client.on('data', (text) => {
      got += text;
      if (got.split(alive).length > live) client.end();
    });
    client.on('error', () => {});
    client.on('close', () => resolve(got));
  });
}

/** The body of `/health/live`, which stands for a request that was smuggled. */
const alive = '"status":"live"';
const smuggled = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n';
/** Behind it the server closes. */
const last = 'GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
const statuses = (text: string) =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
const key = `Authorization: Bearer ${bootstrapKey}\r\n`;
const post = (headers: string, body = '', path = '/api/stream') =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\n${key}${headers === '' ? '' : `${headers}\r\n`}\r\n${body}`;
const chunked = (body: string, path?: string) => post('Transfer-Encoding: chunked', body, path);
const get = (head: string) => `${head}\r\n\r\n`;
const whole = '{"name":"a"}';
const wholeChunk = `${whole.length.toString(16)}\r\n${whole}\r\n`;

it('two requests that are two are answered twice', async () => {
  for (const first of [
    smuggled,
    post(`Content-Length: ${whole.length}`, whole),
    post(`Content-Length:\t${whole.length} `, whole),
    post(`content-length: 000${whole.length}`, whole),
    chunked(`${wholeChunk}0\r\n\r\n`),
    chunked(`00${wholeChunk}000\r\nX: y\r\n\r\n`),
    chunked(`${whole.length.toString(16).toUpperCase()};a="b;c"\r\n${whole}\r\n0\r\n\r\n`),
    post('Transfer-Encoding: CHUNKED', `${wholeChunk}0\r\n\r\n`),
    `\r\n${smuggled}`,
    get('GET http://b/health/live HTTP/1.1\r\nHost: a'),
    get('GET /health/live HTTP/1.1\r\nHost: a\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings'),
  ]) {
    const isLive = first.includes('/health/live');
    const got = await talk(first + smuggled, isLive ? 2 : 1);
    expect([first, statuses(got)]).toEqual([first, [isLive ? 200 : 201, 200]]);
    expect(await talk([...first, smuggled], isLive ? 2 : 1)).toContain(alive);
  }
});

describe('a body is never another request', () => {
  const length = `Content-Length: ${smuggled.length}`;
  const asChunk = `${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`;
  const cases: [name: string, text: string, status: number][] = [
    ['of an API call', post(length, smuggled), 400],
    ['of an API call in chunks', chunked(asChunk), 400],
    ['of one without a key', post(length, smuggled).replace(key, ''), 401],
    ['of one without a key in chunks', chunked(asChunk).replace(key, ''), 401],
    ['of no route', post(length, smuggled, '/none'), 404],
    ['of a method that is not allowed', post(length, smuggled, '/health/live'), 405],
    ['of a GET', get(`GET /none HTTP/1.1\r\nHost: a\r\n${length}`) + smuggled, 404],
    ['of a GET in chunks', get('GET /none HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked') + asChunk, 404],
    ['of a HEAD', get(`HEAD /none HTTP/1.1\r\nHost: a\r\n${length}`) + smuggled, 404],
    ['of an OPTIONS', get(`OPTIONS /none HTTP/1.1\r\nHost: a\r\n${length}`) + smuggled, 404],
    ['of a DELETE', get(`DELETE /api/stream/x HTTP/1.1\r\nHost: a\r\n${length}`) + smuggled, 401],
    ['of an upload of nobody', post(length, smuggled, '/upload/x').replace('POST', 'PUT'), 403],
    [
      'of one that is not waited for',
      post(`Expect: 100-continue\r\n${length}`, smuggled).replace(key, ''),
      401,
    ],
  ];
  it.each(cases)('%s', async (_, text, status) => {
    const got = await talk(text + last);
    const [first, ...others] = statuses(got).filter((one) => one !== 100);
    expect(first).toBe(status);
    // The connection goes on behind a body that was read.
    expect([[], [404]]).toContainEqual(others);
    expect(got).not.toContain(alive);
  });
});

describe('what could be read as two requests is answered once, and the connection ends', () => {
  const both = 'Content-Length: 4\r\nTransfer-Encoding: chunked';
  const heads: [name: string, text: string, status: number][] = [
    ['CL.TE', post(both, '0\r\n\r\n'), 400],
    ['TE.CL', post('Transfer-Encoding: chunked\r\nContent-Length: 4', '0\r\n\r\n'), 400],
    ['two lengths', post('Content-Length: 4\r\nContent-Length: 0', '{}  '), 400],
    ['two equal lengths', post('Content-Length: 4\r\ncontent-length: 4', '{}  '), 400],
    ['two codings', post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity', '0\r\n\r\n'), 400],
    ['two hosts', get('GET /health/live HTTP/1.1\r\nHost: a\r\nHost: b'), 400],
    ['two equal hosts', get('GET /health/live HTTP/1.1\r\nHost: a\r\nHOST: a'), 400],
    ['no host', get('GET /health/live HTTP/1.1\r\nX: a'), 400],
    ['a list of hosts', get('GET /health/live HTTP/1.1\r\nHost: a, b/'), 400],
    ['HTTP/1.0 with chunks', chunked('0\r\n\r\n').replace('HTTP/1.1', 'HTTP/1.0'), 400],
    ['HTTP/0.9', 'GET /health/live\r\n\r\n', 400],
    ['HTTP/1.2', get('GET /health/live HTTP/1.2\r\nHost: a'), 505],
    ['the HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505],
    ['CONNECT', get('CONNECT a:80 HTTP/1.1\r\nHost: a'), 405],
    ['a small method', get('get /health/live HTTP/1.1\r\nHost: a'), 501],
    ['two blanks in the request line', get('GET  /health/live HTTP/1.1\r\nHost: a'), 400],
    ['a tab in the request line', get('GET\t/health/live HTTP/1.1\r\nHost: a'), 400],
    ['a blank behind the version', get('GET /health/live HTTP/1.1 \r\nHost: a'), 400],
    ['a request line in another', get('GET /health/live HTTP/1.1 HTTP/1.1\r\nHost: a'), 400],
    ['a blank before the first header', get('GET /health/live HTTP/1.1\r\n Host: a'), 400],
    ['a folded header', post('X: y\r\n Transfer-Encoding: chunked', '0\r\n\r\n'), 400],
    ['a header folded by a tab', post('Transfer-Encoding:\r\n\tchunked', '0\r\n\r\n'), 400],
    ['a header without a colon', get('GET /health/live HTTP/1.1\r\nHost: a\r\nX'), 400],
    ['a header without a name', get('GET /health/live HTTP/1.1\r\nHost: a\r\n: x'), 400],
    ['another expectation', post('Expect: y 100-continue\r\nContent-Length: 4', '{}  '), 417],
    ...[' ', '\t', '\0', '\x0b', '\xa0', '\r'].map((blank): [string, string, number] => [
      `${JSON.stringify(blank)} before the colon`,
      post(`Transfer-Encoding${blank}: chunked`, '0\r\n\r\n'),
      400,
    ]),
    ...['\0', '\x01', '\x0b', '\x0c', '\x7f', '\n', '\r', '\rX: y'].map((sign): [string, string, number] => [
      `${JSON.stringify(sign)} in a value`,
      post(`X: a${sign}\r\nContent-Length: 4`, '{}  '),
      400,
    ]),
    ...[
      ...['xchunked', 'chunkedx', '"chunked"', 'chunked, identity', 'identity, chunked', 'gzip', ''],
      ...['chunked;q=1', 'chunked,', ', chunked', '\x0bchunked', 'chun\tked', 'identity', 'chunked chunked'],
    ].map((coding): [string, string, number] => [
      `the coding ${JSON.stringify(coding)}`,
      post(`Transfer-Encoding: ${coding}`, '0\r\n\r\n'),
      400,
    ]),
    ...['-1', '+4', '4 4', '4,4', '4;', '0x4', '4.0', '4e0', '', '\xb2', '٤', '9'.repeat(30), '4\x00'].map(
      (length): [string, string, number] => [
        `the length ${JSON.stringify(length)}`,
        post(`Content-Length: ${length}`, '{}  '),
        400,
      ],
    ),
    ...['\n', '\r'].map((end): [string, string, number] => [
      `heads that end by ${JSON.stringify(end)}`,
      `GET /health/live HTTP/1.1${end}Host: a${end}${end}`,
      400,
    ]),
    ['a head that ends by CR LF LF', 'GET /health/live HTTP/1.1\r\nHost: a\r\n\n', 400],
    ['a head that ends by LF CR LF', 'GET /health/live HTTP/1.1\r\nHost: a\n\r\n', 400],
  ];
  it.each(heads)('%s', async (_, text, status) => {
    for (const sent of [
      text + smuggled,
      [text, smuggled],
      [...text.slice(0, 200), text.slice(200) + smuggled],
    ]) {
      const got = await talk(sent);
      expect(statuses(got)).toEqual([status]);
      expect(got).not.toContain(alive);
    }
  });

  const paths = ['/api/stream', '/none', '/upload/x', '/upload/x/tus'];
  const bodies = [
    ...['+5', '-5', '0x5', ' 5', '5 5', '5\x00', '5_', '', 'g', '1'.repeat(9), `1${'0'.repeat(16)}5`].map(
      (size) => `${size}\r\n{}   \r\n0\r\n\r\n`,
    ),
    ...[
      '5\n{}   \r\n0\r\n\r\n',
      '5;a\n{}   \r\n0\r\n\r\n',
      '5;\nxx\r\n45\r\n0\r\n\r\n',
      '5;a\r{}   \r\n0\r\n\r\n',
      '5\r{}   \r\n0\r\n\r\n',
      '5\r\n{}   0\r\n\r\n',
      '5\r\n{}   xx0\r\n\r\n',
      '5\r\n{}   \n0\r\n\r\n',
      '5\r\n{}   \r0\r\n\r\n',
      '0\n\n',
      '0\r\nX: y\n\r\n',
      '0\r\nX : y\r\n\r\n',
      '0\r\n X: y\r\n\r\n',
      '0\r\nX: a\r\n b\r\n\r\n',
      '0\r\nX\r\n\r\n',
      `0\r\n${'X: y\r\n'.repeat(5000)}\r\n`,
      `5;${'a'.repeat(5000)}\r\n{}   \r\n0\r\n\r\n`,
    ],
  ];
  it.each(bodies)('the body %j', async (body) => {
    const ofFile = chunked(body, upload).replace('POST', 'PUT');
    for (const request of [...paths.map((path) => chunked(body, path)), ofFile]) {
      const got = await talk([request, smuggled]);
      const [status, ...others] = statuses(got);
      expect([request, Math.floor((status ?? 0) / 100), others]).toEqual([request, 4, []]);
      expect(got).not.toContain(alive);
    }
  });
});

it('every answer has nosniff, and says who may frame it: only the player is for all', async () => {
  const requests = [
    ...w.app.routes.flatMap(({ method, path }) => {
      const asked = path.replaceAll(/:\w+|\*/g, 'x');
      return method === 'GET' ? [`GET ${asked}`, `HEAD ${asked}`] : [`${method} ${asked}`];
    }),
    ...['GET /no/such/path', 'CONNECT /', 'GET /a\x01', 'BREW /'],
  ];
  const framed: string[] = [];
  for (const request of requests) {
    const head = `${request} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
    const got = (await talk(head)).split('\r\n\r\n')[0] ?? '';
    const named = (name: string) =>
      [...got.matchAll(new RegExp(`\r\n${name}: ([^\r]*)`, 'gi'))].map(([, value]) => value);
    expect([request, named('x-content-type-options')]).toEqual([request, ['nosniff']]);
    const ancestors = named('content-security-policy').flatMap(
      (policy) => /frame-ancestors ([^;]+)/.exec(policy ?? '')?.[1] ?? [],
    );
    expect([request, ancestors.length]).toEqual([request, 1]);
    if (ancestors[0] !== "'none'") framed.push(request);
  }
  expect(framed).toEqual(['GET /embed/x', 'HEAD /embed/x']);
});

it('nothing of this was an error of the server, and it still answers', async () => {
  expect(failures).toEqual([]);
  expect(statuses(await talk(smuggled))).toEqual([200]);
});
