import {
  authenticator,
  definePlugin,
  Elysia,
  json,
  keyedRoutes,
  type LostNode,
  object,
  says,
  Type,
} from 'millrace/plugin';
import { allPlugins, world } from 'millrace/testing';
import { expect, it } from 'vitest';
import { fleet } from '../../kit/fleet.ts';

const answer = object({ weather: Type.String() });

const weather = definePlugin({
  id: 'weather',
  summary: 'asks other nodes for their weather',
  contract: 3,
  needs: [authenticator],
  nodeRoutes: ({ deployment }) =>
    new Elysia().get('/internal/weather', () => Response.json({ weather: `fair at ${deployment.node.id}` })),
  routes(kit) {
    const { keyed } = keyedRoutes(kit);
    return new Elysia().get(
      '/api/weather/:id',
      keyed(({ params, request: { signal } }) =>
        kit.deployment.nodes.request(params.id ?? '', '/internal/weather', { signal }),
      ),
      says('The weather of a node.', {
        name: 'getWeather',
        answers: { 200: json(answer) },
        faults: ['node.unreachable'],
      }),
    );
  },
});

it('asks another node, where nobody else gets to', async () => {
  await using f = await fleet({ plugins: [...(await allPlugins()), weather] });
  const [a, b] = [await f.start('a'), await f.start('b')];
  expect((await a.request('GET', '/api/weather/b')).body).toEqual({ weather: 'fair at b' });
  expect((await a.request('GET', '/internal/weather')).status).toBe(404);
  b.cut();
  expect((await a.request('GET', '/api/weather/b')).body.code).toBe('node.unreachable');
});

it('hears of processes of a node that are gone', async () => {
  const lost: LostNode[] = [];
  const undertaker = definePlugin({
    id: 'undertaker',
    summary: 'notes what ended',
    contract: 3,
    lostNode: async (one) => void lost.push(one),
  });
  await using w = await world({ plugins: [...(await allPlugins()), undertaker], durable: true });
  await w.crash({ downFor: '1m' });
  expect(lost.map(({ id }) => id)).toContain('local');
});
