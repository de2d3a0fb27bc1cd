import {
  authenticator,
  definePlugin,
  Elysia,
  json,
  keyedRoutes,
  object,
  says,
  streams,
  Type,
} from 'millrace/plugin';
import { allPlugins, world } from 'millrace/testing';
import { expect, it } from 'vitest';

const answer = object({ account: Type.String() });
const faults = { 'echo.empty': { status: 422, meaning: 'There is nothing to answer with.' } };

const echo = definePlugin({
  id: 'echo',
  summary: 'answers with the account of the key',
  contract: 3,
  needs: [authenticator, streams],
  faults,
  routes(kit) {
    const { keyed } = keyedRoutes(kit);
    return new Elysia()
      .get(
        '/api/echo',
        keyed(({ principal }) => Response.json({ account: principal.accountId })),
        says('The account of the key.', { name: 'getEcho', answers: { 200: json(answer) } }),
      )
      .get(
        '/api/echo/broken',
        keyed(() => {
          throw new Error('a defect');
        }),
        says('Fails.', { name: 'getBrokenEcho', answers: { 200: json(answer) } }),
      );
  },
});

it('adds routes to the OpenAPI document and asks for a key with the right scope', async () => {
  await using w = await world({ plugins: [...(await allPlugins()), echo] });
  const { get } = w.document.paths['/api/echo'] as { get: { operationId: string; summary: string } };
  expect(get).toMatchObject({ operationId: 'getEcho', summary: 'The account of the key.' });
  expect((await w.request('GET', '/api/echo')).status).toBe(200);
  expect((await w.request('GET', '/api/echo', { key: null })).body.code).toBe('auth.missing');
  const keyWith = async (resources: string[]) =>
    (
      await w.request('POST', '/api/api-token', {
        body: { name: 'narrow', access: { rules: [{ resources }] } },
      })
    ).body.key as string;
  expect((await w.request('GET', '/api/echo', { key: await keyWith(['echo']) })).status).toBe(200);
  const refused = await w.request('GET', '/api/echo', { key: await keyWith(['stream']) });
  expect([refused.status, refused.body.code]).toEqual([403, 'auth.not_allowed']);
});

it('answers a throw in a route with a 500 without details, and goes on', async () => {
  await using w = await world({ plugins: [...(await allPlugins()), echo] });
  const broken = await w.request('GET', '/api/echo/broken');
  expect([broken.status, broken.body.code]).toEqual([500, 'internal']);
  expect(JSON.stringify(broken.body)).not.toContain('a defect');
  expect((await w.request('GET', '/api/echo')).status).toBe(200);
});

it('does not start a plugin whose route has no description', async () => {
  const silent = definePlugin({
    ...{ id: 'silent', summary: 'a route without description', contract: 3 },
    routes: () => new Elysia().get('/api/silent', () => new Response('')),
  });
  await expect(world({ plugins: [...(await allPlugins()), silent] })).rejects.toThrow(/silent/);
});
