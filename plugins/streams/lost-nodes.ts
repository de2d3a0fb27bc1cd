import { Fault } from '../../core/fault.ts';
import { broadcast } from './actor.ts';
import type { StreamsKit } from './kit.ts';

/**
 * A process that starts again knows that the connections of its former life are gone: tells every broadcast
 * that was fed by them. The last sign of life is the former process's last heartbeat.
 */
export async function lostNodes(kit: StreamsKit): Promise<void> {
  const { id: node, former } = kit.deployment.node;
  if (!former) return;
  let after: { createdAt: number; id: string } | undefined;
  for (;;) {
    const page = { where: { node }, limit: 1000, ...(after && { after }) };
    const rows = await kit.resources.list('stream', page);
    for (const row of rows) {
      await kit.actors
        .ask(broadcast, row.id, {
          type: 'node.lost',
          incarnation: former.incarnation,
          aliveAt: former.aliveAt,
        })
        .catch(unlessOver);
    }
    const last = rows.at(-1);
    if (!last || rows.length < page.limit) return;
    after = { createdAt: last.createdAt, id: last.id };
  }
}

/** The broadcast does not wait for that process any more. */
function unlessOver(error: unknown): void {
  if (!(error instanceof Fault && (error.status === 404 || error.status === 409))) throw error;
}
