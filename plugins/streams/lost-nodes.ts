import { unlessRefused } from '../../core/fault.ts';
import { broadcast } from './actor.ts';
import { documentOf } from './document.ts';
import type { StreamsKit } from './kit.ts';
import { streamLimits } from './limits.ts';

/**
 * A process that starts again knows that the connections of its former lives are gone: tells every broadcast
 * that was fed by them. The last sign of life is the last heartbeat of the one before.
 */
export async function lostNodes(kit: StreamsKit): Promise<void> {
  const { id: node, incarnation: own, former } = kit.deployment.node;
  if (!former) return;
  let after: { createdAt: number; id: string } | undefined;
  for (;;) {
    const page = { where: { node }, limit: streamLimits.lostPublishes.value, ...(after && { after }) };
    const rows = await kit.resources.list('stream', page);
    const lost = rows.map((row) => {
      const { incarnation } = documentOf(row);
      if (incarnation === null || incarnation === own) return undefined;
      // Refused: it does not wait for that process any more.
      const command = { type: 'node.lost', incarnation, aliveAt: former.aliveAt } as const;
      return kit.actors.ask(broadcast, row.id, command).catch(unlessRefused);
    });
    await Promise.all(lost);
    const last = rows.at(-1);
    if (!last || rows.length < page.limit) return;
    after = { createdAt: last.createdAt, id: last.id };
  }
}
