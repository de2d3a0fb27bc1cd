import { connect } from 'node:net';
import { Elysia } from 'elysia';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { jsonLog } from '../../core/base/log.ts';
import { httpCore } from '../../core/http/http.ts';
import { systemClock } from '../../runtime/drivers/clock/system.ts';
import { listen } from '../../runtime/http/listen.ts';
import { type NodeClient, nodeClient } from '../../runtime/nodes/node-client.ts';
import { nodeGate } from '../../runtime/nodes/node-gate.ts';
import { ownUrl } from '../../runtime/nodes/own-url.ts';

const secret = 'a secret of all nodes'.replaceAll(' ', '-');
const log = jsonLog({ level: 'error', now: () => 0, write: () => {} });
const big = new Uint8Array(3_000_000).map((_, index) => index % 251);
let url: string;
let server: Awaited<ReturnType<typeof listen>>;
let client: NodeClient;
let left: Promise<void>;

beforeAll(async () => {
  let onLeft = () => {};
  left = new Promise((resolve) => {
    onLeft = resolve;
  });
  const routes = [
    new Elysia()
      .get('/internal/big', () => new Response(new Blob([big])))
      .get('/internal/nothing', () => new Response(null, { status: 204 }))
      .get('/internal/headers', ({ request }) => Response.json(Object.fromEntries(request.headers)))
      .post('/internal/done/:what', ({ params }) => Response.json(params, { status: 202 }))
      .patch('/internal/taken', async ({ request }) => Response.json(await taken(request)), { parse: 'none' })
      .get('/internal/never', ({ request }) => {
        request.signal.addEventListener('abort', () => onLeft());
        return new Promise<Response>(() => {});
      }),
  ];
  const open = new Elysia().get('/open', () => new Response('open')).get('/internal/big', () => 'not here');
  server = await listen(httpCore({ log, routes: [open] }), {
    ...{ host: '127.0.0.1', port: 0, log },
    gate: nodeGate({ app: httpCore({ log, routes }), secret }),
  });
  url = `http://127.0.0.1:${server.port}`;
  client = nodeClient({ clock: systemClock(), secret });
});
afterAll(async () => {
  client.close();
  await server.stop();
});
const forever = new AbortController().signal;

/** Bytes that came, and whether they came to their end. */
const takings: { bytes: number; isWhole: boolean }[] = [];
async function taken(request: Request) {
  const taking = { bytes: 0, isWhole: false };
  takings.push(taking);
  const reader = request.body?.getReader();
  while (reader) {
    const { done, value } = await reader.read();
    if (done) break;
    taking.bytes += value.length;
  }
  taking.isWhole = true;
  return taking;
}
async function* pieces(count: number) {
  for (let n = 0; n < count; n += 1) yield new Uint8Array(50_000);
}

describe('requests between nodes', () => {
  it('hand a body on as it comes; one that breaks off breaks off there too', async () => {
    const patch = (path: string, count: number, length = count * 50_000) =>
      client.ask(url, path, {
        ...{ method: 'PATCH', signal: forever },
        headers: { 'upload-offset': '5' },
        body: { length, chunks: () => pieces(count) },
      });
    const answer = await patch('/internal/taken', 5);
    expect(await answer.json()).toEqual({ bytes: 250_000, isWhole: true });
    await expect(patch('/internal/taken', 3, 250_000)).rejects.toThrow('the body has 150000 bytes');
    while (takings.length < 2 || takings[1].bytes < 150_000)
      await new Promise((resolve) => setImmediate(resolve));
    expect(takings[1]).toEqual({ bytes: 150_000, isWhole: false });
    // Who refuses does not want the rest.
    let isAsked = 0;
    const refused = await client.ask(url, '/internal/taken', {
      ...{ method: 'PATCH', signal: forever },
      body: {
        length: 2 ** 40,
        async *chunks() {
          for (; ; isAsked += 1) yield new Uint8Array(50_000);
        },
      },
    });
    expect([refused.status, (await refused.json()).code]).toEqual([413, 'body.too_large']);
    expect(isAsked).toBeLessThan(10_000);
  });

  it('are answered with the secret, whole and as they are', async () => {
    const answer = await client.ask(url, '/internal/big', { signal: forever });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-length')).toBe(String(big.length));
    expect(Buffer.from(await answer.arrayBuffer()).equals(Buffer.from(big))).toBe(true);
    expect((await client.ask(url, '/internal/nothing', { signal: forever })).status).toBe(204);
    expect((await client.ask(url, '/internal/none', { signal: forever })).status).toBe(404);
    const headers = { 'x-more': 'yes' };
    expect(
      await (await client.ask(url, '/internal/headers', { signal: forever, headers })).json(),
    ).toMatchObject({
      'x-more': 'yes',
      'x-millrace-node': secret,
    });
  });

  it('may be a POST without a body', async () => {
    const answer = await client.ask(url, '/internal/done/this', { signal: forever, method: 'POST' });
    expect([answer.status, await answer.json()]).toEqual([202, { what: 'this' }]);
    expect((await client.ask(url, '/internal/done/this', { signal: forever })).status).toBe(405);
  });

  it.each([
    ['no secret', {}, 401, 'node.secret_missing'],
    ['another', { 'x-millrace-node': `${secret}x` }, 403, 'node.secret_wrong'],
    ['an empty one', { 'x-millrace-node': '' }, 403, 'node.secret_wrong'],
    ['an API key', { authorization: `Bearer ${secret}` }, 401, 'node.secret_missing'],
  ])('are refused with %s, whatever is asked for', async (_, headers, status, code) => {
    for (const path of ['/internal/big', '/internal/none', '/internal/']) {
      const answer = await fetch(`${url}${path}`, { headers: headers as Record<string, string> });
      expect(answer.status).toBe(status);
      expect(await answer.json()).toMatchObject({ code });
    }
  });

  it.each([
    '/internal/%62ig',
    '//internal/big',
    '/./internal/big',
    '/x/../internal/big',
    '/INTERNAL/big',
    '/internal%2fbig',
  ])('have no side door: %s', async (path) => {
    expect(await raw(path)).not.toContain('not here');
    expect(await raw(path)).not.toMatch(/^HTTP\/1\.1 200/);
  });

  it('leave everything else alone', async () => {
    expect(await (await fetch(`${url}/open?x=/internal/`)).text()).toBe('open');
  });

  it('end there when nobody wants the answer any more', async () => {
    const stop = new AbortController();
    const answer = client.ask(url, '/internal/never', { signal: stop.signal });
    stop.abort();
    await expect(answer).rejects.toThrow();
    const second = new AbortController();
    const pending = client.ask(url, '/internal/never', { signal: second.signal }).catch(() => 'ended');
    await fetch(`${url}/open`);
    second.abort();
    expect(await pending).toBe('ended');
    await left;
  });

  it('fail when nobody is there, and tell nobody the secret', async () => {
    const failure = client.ask('http://127.0.0.1:1', '/internal/big', { signal: forever });
    await expect(failure).rejects.toThrow('127.0.0.1:1');
    await expect(failure).rejects.not.toThrow(secret);
  });
});

it('a node says an address of its own where it listens on all', () => {
  expect(ownUrl({ host: '10.1.2.3', port: 81 })).toBe('http://10.1.2.3:81');
  expect(ownUrl({ host: '::1', port: 81 })).toBe('http://[::1]:81');
  expect(ownUrl({ host: '0.0.0.0', port: 81 })).toMatch(/^http:\/\/(?!0\.0\.0\.0)\d+(\.\d+){3}:81$/);
});

/** What a server answers to this very path. */
function raw(path: string): Promise<string> {
  const { port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1', () =>
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`),
    );
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk;
    });
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
  });
}
