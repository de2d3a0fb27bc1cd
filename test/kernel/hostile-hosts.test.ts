import { connect } from 'node:net';
import { Elysia } from 'elysia';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { jsonLog } from '../../core/base/log.ts';
import { httpCore } from '../../core/http/http.ts';
import { listen } from '../../runtime/http/listen.ts';

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
