import { unlessRefused } from '../../core/fault.ts';
import type { LostNode } from '../../core/nodes.ts';
import { broadcast } from './actor.ts';
import { documentOf } from './document.ts';
import type { StreamsKit } from './kit.ts';
import { streamLimits } from './limits.ts';

/** Tells every broadcast that was fed by a process which is gone. Its last sign of life is its last heartbeat. */
export async function lostNode(lost: LostNode, kit: StreamsKit): Promise<void> {
  const where = { node: lost.id };
  let after: { createdAt: number; id: string } | undefined;
  for (;;) {
    const page = { where, limit: streamLimits.lostPublishes.value, ...(after && { after }) };
    const rows = await kit.resources.list('stream', page);
    if (rows.length > 0) {
      const lastSign = await lost.lastSigns();
      const told = rows.map(async (row) => {
        const { incarnation } = documentOf(row);
        const aliveAt = incarnation === null ? undefined : lastSign(incarnation);
        if (incarnation === null || aliveAt === undefined) return;
        // Refused: it does not wait for that process any more.
        await kit.actors
          .ask(broadcast, row.id, { type: 'node.lost', incarnation, aliveAt })
          .catch(unlessRefused);
      });
      // All of them, so that one which cannot be told keeps no other from it.
      const failed = (await Promise.allSettled(told)).find((one) => one.status === 'rejected');
      if (failed) throw failed.reason;
    }
    const last = rows.at(-1);
    if (!last || rows.length < page.limit) return;
    after = { createdAt: last.createdAt, id: last.id };
  }
}
