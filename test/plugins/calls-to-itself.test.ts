import { expect, it } from 'vitest';
import { definePlugin, Elysia, type Kit, type Plugin, says, Type } from '../../sdk/plugin.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { world } from '../kit/world.ts';

const plugins = await allPlugins();
const answer = { description: 'Its answer.', content: { 'application/json': Type.Unknown() } };
const asker = definePlugin({
  id: 'acme-asker',
  summary: 'asks routes of the program',
  contract: 3,
  routes: (kit: Kit) =>
    new Elysia()
      .get(
        '/acme/ask',
        async ({ request, query }) =>
          kit.ask(request, { method: 'GET', path: String(query.path), headers: { host: 'x' } }),
        says('Asks a route.', {
          ...{ name: 'askAcme', isOpen: true, query: { path: Type.String() } },
          answers: { 200: answer, 401: answer, 403: answer },
        }),
      )
      .get(
        '/acme/address',
        ({ request }) => Response.json([kit.caller(request).address, kit.caller(request).baseUrl]),
        says('The address of the caller.', {
          ...{ name: 'getAcmeAddress', isOpen: true },
          answers: { 200: answer },
        }),
      ),
}) as unknown as Plugin;

it('is answered as the same client would be: with its key, its address and its host', async () => {
  await using w = await world({ plugins: [...plugins, asker] });
  const ask = async (path: string, { key = 'test-bootstrap-key', host = 'media.example:81' } = {}) => {
    const headers = { ...(key !== '' && { authorization: `Bearer ${key}` }), host };
    const url = `http://${host}/acme/ask?path=${encodeURIComponent(path)}`;
    const answer = await w.app.handle(Object.assign(new Request(url, { headers }), { peer: '192.0.2.9' }));
    return [answer.status, await answer.text()];
  };
  await w.given.stream({ name: 'Mine' });
  expect(await ask('/api/stream?limit=1')).toEqual([200, expect.stringContaining('"Mine"')]);
  expect(await ask('/acme/address')).toEqual([200, '["192.0.2.9","http://media.example:81"]']);
  expect(await ask('/api/stream', { key: '' })).toEqual([401, expect.stringContaining('auth.missing')]);
  const access = { rules: [{ resources: ['asset'] }] };
  const { key } = (await w.request('POST', '/api/api-token', { body: { name: 'K', access } })).body;
  expect(await ask('/api/stream', { key })).toEqual([403, expect.stringContaining('auth.not_allowed')]);
});

it('goes to no other host, and not round in a circle', async () => {
  await using w = await world({ plugins: [...plugins, asker] });
  const status = async (path: string) =>
    (await w.app.handle(new Request(`http://localhost:8080/acme/ask?path=${encodeURIComponent(path)}`)))
      .status;
  const deep = (times: number): string =>
    times === 0 ? '/health/live' : `/acme/ask?path=${encodeURIComponent(deep(times - 1))}`;
  expect(await status(deep(1))).toBe(200);
  expect(await status(deep(3))).toBe(500);
  for (const path of ['//evil.example/', 'http://evil.example/', 'evil'])
    expect(await status(path)).toBe(500);
  expect(await status('/health/live')).toBe(200);
});
