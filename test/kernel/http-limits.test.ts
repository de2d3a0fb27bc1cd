import { connect } from 'node:net';
import { Elysia } from 'elysia';
import { describe, expect, it } from 'vitest';
import { jsonLog } from '../../core/base/log.ts';
import { bodyBytes, maxJsonBytes } from '../../core/http/body.ts';
import { httpCore } from '../../core/http/http.ts';
import { listen } from '../../runtime/http/listen.ts';
import { maxHead } from '../../runtime/http/request-head.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { bootstrapKey, world } from '../kit/world.ts';

const log = jsonLog({ level: 'error', now: () => 0, write: () => {} });

describe('beyond a limit of the HTTP server', () => {
  it('further requests are told to come again, and operators still see it', async () => {
    const { promise: end, resolve } = Promise.withResolvers<void>();
    const slow = new Elysia()
      .get('/slow', async () => {
        await end;
        return new Response('done');
      })
      .get('/health/live', () => new Response('live'))
      .get('/metrics', () => new Response('figures'));
    const server = await listen(httpCore({ log, routes: [slow] }), {
      host: '127.0.0.1',
      port: 0,
      log,
      requests: 2,
    });
    const base = `http://127.0.0.1:${server.port}`;
    // Whichever two come first wait; the third is the only one that is answered.
    const asked = [1, 2, 3].map(() => fetch(`${base}/slow`));
    const refused = await Promise.race(asked);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await refused.json()).toMatchObject({ code: 'server.busy' });
    for (const path of ['/health/live', '/metrics']) expect((await fetch(base + path)).status).toBe(200);
    resolve();
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.sort()).toEqual([200, 200, 503]);
    expect((await fetch(`${base}/slow`)).status).toBe(200);
    await server.stop();
  });

  it('a port that another Millrace has is refused by name, not shared with it', async () => {
    const options = { host: '127.0.0.1', log };
    const app = httpCore({ log, routes: [] });
    const server = await listen(app, { ...options, port: 0 });
    await expect(listen(app, { ...options, port: server.port })).rejects.toThrow(
      `Port ${server.port} (http.port) is in use`,
    );
    await server.stop();
  });

  it('a client that leaves in the middle of its body is no failure of ours', async () => {
    const lines: string[] = [];
    const own = jsonLog({ level: 'debug', now: () => 0, write: (line) => lines.push(line) });
    const { promise: outcome, resolve } = Promise.withResolvers<unknown>();
    const routes = new Elysia().post('/read', ({ request }) => {
      const read = bodyBytes(request);
      read.then(resolve, resolve);
      return read.then(() => new Response('read'));
    });
    const server = await listen(httpCore({ log: own, routes: [routes] }), {
      host: '127.0.0.1',
      port: 0,
      log: own,
    });
    const client = connect(server.port, '127.0.0.1');
    client.write('POST /read HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{', () => client.destroy());
    expect(await outcome).toMatchObject({ code: 'body.malformed', status: 400 });
    await server.stop();
    expect(lines).toEqual([]);
  });

  it('too long a head is 431, and what fits is read', async () => {
    const routes = [new Elysia().get('/head', ({ request }) => new Response(request.headers.get('x-long')))];
    const server = await listen(httpCore({ log, routes }), { host: '127.0.0.1', port: 0, log });
    const ask = (length: number) =>
      fetch(`http://127.0.0.1:${server.port}/head`, { headers: { 'x-long': 'a'.repeat(length) } });
    expect(await (await ask(maxHead - 1000)).text()).toHaveLength(maxHead - 1000);
    expect((await ask(maxHead)).status).toBe(431);
    await server.stop();
  });

  it('a body is refused before it is read', async () => {
    const plugins = await allPlugins();
    await using w = await world({ plugins });
    const server = await listen(w.app, { host: '127.0.0.1', port: 0, log });
    const post = (length: number) =>
      fetch(`http://127.0.0.1:${server.port}/api/stream`, {
        method: 'POST',
        headers: { authorization: `Bearer ${bootstrapKey}` },
        body: 'x'.repeat(length),
      });
    expect((await post(maxJsonBytes)).status).toBe(400);
    expect(await (await post(maxJsonBytes + 1)).json()).toMatchObject({
      code: 'body.too_large',
    });
    await server.stop();
  });
});
