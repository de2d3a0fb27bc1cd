import { connect } from 'node:net';
import { Elysia } from 'elysia';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { jsonLog } from '../../core/base/log.ts';
import { httpCore } from '../../core/http/http.ts';
import { listen, urlCheck } from '../../runtime/http/listen.ts';

const log = jsonLog({ level: 'error', now: () => 0, write: () => {} });
let server: Awaited<ReturnType<typeof listen>>;

beforeAll(async () => {
  const routes = [new Elysia().get('/there', ({ request }) => new Response(new URL(request.url).host))];
  server = await listen(httpCore({ log, routes }), { host: '127.0.0.1', port: 0, log });
});
afterAll(() => server.stop());

/** Status line and body of the answer to a request with this `Host`. */
function ask(host: string, path = '/there'): Promise<[status: number, body: string]> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const client = connect(server.port, '127.0.0.1', () =>
      client.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
    );
    client.setEncoding('utf8');
    client.on('data', (text) => {
      answer += text;
    });
    client.on('error', reject);
    client.on('close', () =>
      resolve([Number(answer.slice(9, 12)), answer.slice(answer.indexOf('\r\n\r\n') + 4)]),
    );
  });
}

it('a host that makes no URL is refused, whatever was asked before', async () => {
  for (const good of ['a.example', 'a.example:8080', '127.0.0.1:1', '[::1]:80', 'b_c-d.example']) {
    expect(await ask(good)).toEqual([200, good.replace(/:80$/, '')]);
    for (const bad of ['a b', 'a:99999', 'a:b', '[::1', '1.2.3.4.5', 'a%zz', 'a<b', '|', `${good}x:y`]) {
      const [status, body] = await ask(bad);
      expect([bad, status, body]).toEqual([bad, 400, expect.stringContaining('"request.malformed"')]);
    }
  }
});

it('a URL is one for the check when it is one for the parser, in any order', () => {
  const isUrl = urlCheck();
  const hosts = [
    ...[
      'a.example',
      'a.example:80',
      'a.example:99999',
      'a',
      'A',
      '',
      '/',
      '//',
      '///',
      ':',
      ':80',
      'a:',
      'a:b',
    ],
    ...['a@b', '@', 'a b', 'a\\b', 'a\\', '\\', 'a?b', 'a#b', '?', '#', '[::1]', '[::1', '[', ']', '1.2.3.4'],
    ...[
      '1.2.3.4.5',
      '0x',
      '1',
      '256.256.256.256',
      'xn--a',
      'xn--',
      '..',
      '.',
      '-',
      '_',
      'a%41',
      'a%',
      'ä',
      '\u0000',
    ],
    ...['a\t', '\ta', 'a\n', 'a<', 'a|', 'a^', '\ud800', 'a'.repeat(300)],
  ];
  const paths = [
    '/',
    '/a',
    '//',
    '///[',
    '/\\[',
    '/?[',
    '/#[',
    '/%zz',
    '/a b',
    '/@[',
    '/:x',
    '/\ud800',
    '/ ',
    '',
    '?',
    '*',
  ];
  const urls = hosts.flatMap((host) => paths.map((path) => `http://${host}${path}`));
  // Each of them after each of the hosts.
  for (let turn = 0; turn < hosts.length; turn += 1) {
    const others = [`http://${hosts[turn]}/there`, ...urls];
    for (const url of others) expect([url, isUrl(url)]).toEqual([url, URL.canParse(url)]);
  }
});
