import { type AnyElysia, Elysia } from 'elysia';
import { Fault } from '../../core/base/fault.ts';
import type { HealthKit } from './config.ts';
import { health, type Point } from './contract.ts';
import { maxPoints } from './history.ts';

/**
 * The last hour of a session from all nodes that fed it. The part of a node that is gone is lost. Fault `node.unreachable`
 * (503) when a living one does not answer.
 */
export async function pointsEverywhere(
  of: { readonly streamId: string; readonly sessionId: string; readonly nodes: readonly string[] },
  { kit, signal }: { kit: HealthKit; signal: AbortSignal },
): Promise<readonly Point[]> {
  const { streamId, sessionId } = of;
  const found = await Promise.all(
    of.nodes.map(async (id) => {
      if (id === kit.deployment.node.id) return kit.use(health).points({ streamId, sessionId });
      if (!(await kit.deployment.nodes.find(id))?.isAlive) return [];
      const answer = await kit.deployment.nodes.request(id, `/internal/health/${streamId}/${sessionId}`, {
        signal,
      });
      if (answer.ok) return (await answer.json()) as Point[];
      const message = `The node "${id}", which has the history, answered with ${answer.status}. Try again.`;
      throw new Fault('node.unreachable', { status: 503, message, retryAfter: 1 });
    }),
  );
  // When two nodes have the same 5 s, the later node counts.
  const points = new Map(found.flat().map((point) => [point.time, point]));
  return [...points.values()].sort((a, b) => a.time - b.time).slice(-maxPoints);
}

/** The history of this node, for other nodes. */
export function healthNodeRoutes(kit: HealthKit): AnyElysia {
  return new Elysia().get('/internal/health/:streamId/:sessionId', ({ params: { streamId, sessionId } }) =>
    Response.json(kit.use(health).points({ streamId, sessionId })),
  );
}
