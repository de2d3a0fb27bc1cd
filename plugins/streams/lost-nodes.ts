import { unlessRefused } from '../../core/base/fault.ts';
import { sideBySide } from '../../core/base/side-by-side.ts';
import type { LostNode } from '../../core/plugin/nodes.ts';
import { rowPages } from '../../core/plugin/row-pages.ts';
import { broadcast } from './actor.ts';
import { documentOf } from './document.ts';
import type { StreamsKit } from './kit.ts';
import { streamLimits } from './limits.ts';

/** Tells every broadcast that was fed by a process which is gone. Its last sign of life is its last heartbeat. */
export async function lostNode(lost: LostNode, kit: StreamsKit): Promise<void> {
  const where = { node: lost.id };
  for await (const rows of rowPages('stream', { where, page, resources: kit.resources })) {
    const lastSign = await lost.lastSigns();
    await sideBySide(rows, async (row) => {
      const { incarnation } = documentOf(row);
      const aliveAt = incarnation === null ? undefined : lastSign(incarnation);
      if (incarnation === null || aliveAt === undefined) return;
      // Refused: it does not wait for that process any more.
      await kit.actors
        .ask(broadcast, row.id, { type: 'node.lost', incarnation, aliveAt })
        .catch(unlessRefused);
    });
  }
}

const page = streamLimits.lostPublishes.value;
