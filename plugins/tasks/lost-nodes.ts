import { unlessRefused } from '../../core/fault.ts';
import type { LostNode } from '../../core/nodes.ts';
import { taskKind, taskOf } from './document.ts';
import type { TasksKit } from './kit.ts';
import { taskLimits } from './limits.ts';
import { task } from './task.ts';

/** Tells every task that processes worked at which are gone: it waits for another try. */
export async function lostNode(lost: LostNode, kit: TasksKit): Promise<void> {
  const limit = taskLimits.lostAtOnce.value;
  let after: { createdAt: number; id: string } | undefined;
  for (;;) {
    const rows = await kit.resources.list(taskKind, {
      ...{ where: { phase: 'running' }, limit },
      ...(after && { after }),
    });
    if (rows.length > 0) {
      const lastSign = await lost.lastSigns();
      const told = rows.flatMap((row) =>
        taskOf(row)
          .incarnations.filter((incarnation) => lastSign(incarnation) !== undefined)
          .map((incarnation) =>
            kit.actors.ask(task, row.id, { type: 'node.lost', incarnation }).catch(unlessRefused),
          ),
      );
      // All of them, so that one which cannot be told keeps no other from it.
      const failed = (await Promise.allSettled(told)).find((one) => one.status === 'rejected');
      if (failed) throw failed.reason;
    }
    const last = rows.at(-1);
    if (!last || rows.length < limit) return;
    after = { createdAt: last.createdAt, id: last.id };
  }
}
