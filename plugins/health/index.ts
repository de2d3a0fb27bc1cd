import { Elysia } from 'elysia';
import { authenticate, authenticator } from '../../core/http/auth.ts';
import { says } from '../../core/http/http.ts';
import { json } from '../../core/http/operation.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { streams } from '../streams/contract.ts';
import { config } from './config.ts';
import { health } from './contract.ts';
import { healthNodeRoutes, pointsEverywhere } from './everywhere.ts';
import { pointsSchema } from './schema.ts';
import { healthWatch } from './watch.ts';

/** Health of running broadcasts: issues, an event when it changes, and the last hour. */
export default definePlugin({
  id: 'health',
  summary: 'stream health: issues, history, events',
  config,
  needs: [authenticator, streams, health],
  provides: [health],
  emits: {
    'stream.health': 'A broadcast became unhealthy or healthy again; `payload.health` says why.',
  },
  start(kit) {
    const watch = healthWatch(kit);
    kit.provide(health, watch);
    kit.metrics.reading('millrace_unhealthy_broadcasts', {
      help: 'Broadcasts on the air that are not healthy, including those with a lost connection.',
      read: () => watch.unhealthy,
    });
    const unobserve = kit.use(streams).observe(watch);
    return () => {
      unobserve();
      watch.stop();
    };
  },
  nodeRoutes: healthNodeRoutes,
  routes(kit) {
    const keys = kit.use(authenticator);
    const history = kit.use(health);
    return new Elysia().get(
      '/api/stream/:id/health',
      async ({ request, params }) => {
        const principal = await authenticate(request, keys);
        const { id, parentId, sessionId, nodes } = await kit.use(streams).find(principal, params.id);
        const streamId = parentId ?? id;
        const points =
          kit.deployment.isAlone || sessionId === null
            ? history.points(parentId === null ? { streamId } : { streamId, sessionId: id })
            : await pointsEverywhere({ streamId, sessionId, nodes }, { kit, signal: request.signal });
        return Response.json(points, { headers: { 'cache-control': 'no-store' } });
      },
      says(
        'Health of a broadcast over the last hour, a point for each 5 s; of a parent its newest session.',
        {
          name: 'getStreamHealth',
          answers: { 200: json(pointsSchema, 'Oldest first; empty when nothing is known.') },
          faults: ['stream.not_found', 'node.unreachable'],
        },
      ),
    );
  },
});
