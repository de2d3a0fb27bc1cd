import { describe, expect, it } from 'vitest';
import { innerRequest } from '../../core/http/inner-call.ts';
import { definePlugin, Elysia, nothing, type Plugin, says } from '../../sdk/plugin.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { world } from '../kit/world.ts';

describe('a call that a plugin makes for a client', () => {
  const came = Object.assign(
    new Request('http://acme.example.com/x', {
      method: 'POST',
      body: 'text',
      headers: {
        ...{ authorization: 'Bearer k', 'content-type': 'text/plain', 'content-length': '4' },
        ...{ 'if-none-match': '"a"', range: 'bytes=0-1', 'accept-encoding': 'br', 'idempotency-key': 'i' },
      },
    }),
    { peer: '192.0.2.7' },
  );

  it('has the key and the address of the client, and nothing that describes its body', async () => {
    const inner = innerRequest(came, { method: 'POST', path: '/api/stream?a=1', body: { name: 'S' } });
    expect([inner.url, inner.method]).toEqual(['http://acme.example.com/api/stream?a=1', 'POST']);
    expect(Object.fromEntries(inner.headers)).toEqual({
      ...{ authorization: 'Bearer k', 'content-type': 'application/json', 'idempotency-key': 'i' },
    });
    expect((inner as Request & { peer?: string }).peer).toBe('192.0.2.7');
    expect(await inner.json()).toEqual({ name: 'S' });
    const open = innerRequest(came, { method: 'GET', path: '/api/playback/x', isOpen: true });
    expect([open.headers.has('authorization'), open.body]).toEqual([false, null]);
  });

  it('finds the route itself also at a host that stands for a path', async () => {
    const acme = definePlugin({
      id: 'acme',
      contract: 3,
      summary: 'calls a route for its client',
      hosts: () => ({ 'acme.example.com': '/acme' }),
      routes: (kit) =>
        new Elysia().get(
          '/acme/ingest',
          async ({ request }) => {
            const answer = await kit.ask(request, { method: 'GET', path: '/api/ingest', isOpen: true });
            return new Response(null, { status: answer.ok ? 204 : 500 });
          },
          says('Asks.', { name: 'askAcme', isOpen: true, answers: { 204: nothing } }),
        ),
    }) as unknown as Plugin;
    await using w = await world({ plugins: [...(await allPlugins()), acme] });
    const headers = { host: 'acme.example.com' };
    const request = Object.assign(new Request('http://acme.example.com/ingest', { headers }), {
      peer: '127.0.0.1',
    });
    expect((await w.app.handle(request)).status).toBe(204);
    await w.settle();
  });
});
