import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { Fault } from '../../core/base/fault.ts';
import { exampleId } from '../../core/base/ids.ts';
import { authenticator } from '../../core/http/auth.ts';
import { says } from '../../core/http/http.ts';
import { keyedRoutes } from '../../core/http/keyed.ts';
import { json } from '../../core/http/operation.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { streams } from '../streams/contract.ts';
import { config, type HealthKit } from './config.ts';
import { maxPoints } from './history.ts';
import { type Point, pointSchema } from './point.ts';
import { health, healthWatch } from './watch.ts';

/** Health of running broadcasts: issues, an event when it changes, and the last hour. */
export default definePlugin({
  id: 'health',
  summary: 'stream health: issues, history, events',
  config,
  needs: [authenticator, streams, health],
  provides: [health],
  emits: {
    'stream.health': {
      meaning: 'A broadcast became unhealthy or healthy again; `payload.health` says why.',
      payload: { health: { sessionId: exampleId, isHealthy: true, issues: [] } },
      hasStream: true,
    },
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
  /** The history of this node, for other nodes. */
  nodeRoutes: (kit) =>
    new Elysia().get('/internal/health/:streamId/:sessionId', ({ params: { sessionId } }) =>
      Response.json(kit.use(health).points(sessionId)),
    ),
  routes(kit) {
    const { keyed } = keyedRoutes(kit);
    return new Elysia().get(
      '/api/stream/:id/health',
      keyed(async ({ request, params, principal }) => {
        const { id, parentId, sessionId, nodes } = await kit.use(streams).find(principal, params.id);
        const of = { streamId: parentId ?? id, sessionId, nodes };
        const points = await pointsOf(of, { kit, signal: request.signal });
        return Response.json(points, { headers: { 'cache-control': 'no-store' } });
      }),
      says(
        'Health of a broadcast over the last hour, a point for each 5 s; of a parent its newest session.',
        {
          name: 'getStreamHealth',
          answers: {
            200: json(Type.Array(pointSchema), 'Oldest first; empty when nothing is known.'),
          },
          faults: ['stream.not_found', 'node.unreachable'],
        },
      ),
    );
  },
});

/**
 * The last hour of a session from all nodes that fed it. The part of a node that is gone is lost. Fault `node.unreachable`
 * (503) when a living one does not answer.
 */
async function pointsOf(
  of: { readonly streamId: string; readonly sessionId: string | null; readonly nodes: readonly string[] },
  { kit, signal }: { kit: HealthKit; signal: AbortSignal },
): Promise<readonly Point[]> {
  const { streamId, sessionId } = of;
  const { node, nodes } = kit.deployment;
  if (sessionId === null) return [];
  const found = await Promise.all(
    of.nodes.map(async (id) => {
      if (id === node.id) return kit.use(health).points(sessionId);
      if (!(await nodes.find(id))?.isAlive) return [];
      const answer = await nodes.request(id, `/internal/health/${streamId}/${sessionId}`, { signal });
      if (answer.ok) return (await answer.json()) as Point[];
      const message = `The node "${id}", which has the history, answered with ${answer.status}. Try again.`;
      throw new Fault('node.unreachable', { status: 503, message, retryAfter: 1 });
    }),
  );
  // When two nodes have the same 5 s, the later node counts.
  const points = new Map(found.flat().map((point) => [point.time, point]));
  return [...points.values()].sort((a, b) => a.time - b.time).slice(-maxPoints);
}
