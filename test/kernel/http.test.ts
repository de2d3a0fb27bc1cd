import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { jsonLog } from '../../core/base/log.ts';
import { httpCore } from '../../core/http/http.ts';
import type { Plugin } from '../../core/plugin/plugin.ts';
import accounts from '../../plugins/accounts/index.ts';
import events from '../../plugins/events/index.ts';
import { listen } from '../../runtime/http/listen.ts';
import { bootstrapKey, world } from '../kit/world.ts';

const log = jsonLog({ level: 'error', now: () => 0, write: () => {} });

/** What a server answers to these very bytes. */
function raw(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let answer = '';
    socket.on('data', (chunk) => {
      answer += chunk;
      socket.end();
    });
    socket.on('close', () => resolve(answer));
    socket.on('error', reject);
  });
}

describe('the HTTP server', () => {
  it.each(['http://x/health/live', 'http://api/health/live', 'http://a.b.c.example/health/live'])(
    'finds the path behind a host of any length: %s',
    async (url) => {
      await using w = await world({ plugins: [] });
      expect((await w.app.handle(new Request(url))).status).toBe(200);
    },
  );

  it.each(['a b', '[', 'xn--', '256.256.256.256', 'a:99999'])(
    'answers a Host of %j with an error body and no page',
    async (host) => {
      const server = await listen(httpCore({ log, routes: [] }), { host: '127.0.0.1', port: 0, log });
      const answer = await raw(server.port, `GET /api/stream HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      await server.stop();
      expect(answer).toMatch(/^HTTP\/1\.1 40[04] /);
      expect(answer).toContain('"errors"');
      expect(answer).not.toContain('<html');
    },
  );

  it('refuses a Host that is more than host and port as it refuses every malformed head', async () => {
    const server = await listen(httpCore({ log, routes: [] }), { host: '127.0.0.1', port: 0, log });
    const answer = await raw(server.port, 'GET /api/stream HTTP/1.1\r\nHost: a/../b?c#\r\n\r\n');
    await server.stop();
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).not.toContain('<html');
  });

  it('opens no event stream for a HEAD', async () => {
    await using w = await world({ plugins: [accounts, events] as unknown as Plugin[] });
    const headers = { authorization: `Bearer ${bootstrapKey}` };
    const answer = await w.app.handle(
      new Request('http://localhost/api/events', { method: 'HEAD', headers }),
    );
    expect(answer.headers.get('content-type')).toBe('text/event-stream');
    expect(await answer.text()).toBe('');
  });

  it('names the methods that a path has to a request with another one', async () => {
    await using w = await world({ plugins: [accounts, events] as unknown as Plugin[] });
    const answer = await w.app.handle(new Request('http://localhost/api/events', { method: 'PUT' }));
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
    expect(await answer.json()).toEqual({
      code: 'route.method_not_allowed',
      errors: ['PUT is not allowed here. Allowed: GET, HEAD, OPTIONS.'],
    });
  });

  it("hides whether another account's event exists", async () => {
    await using w = await world({ plugins: [accounts, events] as unknown as Plugin[] });
    const id = 'd0.1/0/x';
    await w.store.write({
      at: w.now(),
      rows: [],
      events: [{ id, type: 'x', account: 'another', stream: '', body: '{}' }],
    });
    const answer = await w.request('GET', '/api/events', { headers: { 'last-event-id': id } });
    expect([answer.status, answer.body.code]).toEqual([410, 'events.gone']);
  });
});
