import { unlessRefused } from '../../core/base/fault.ts';
import { sideBySide } from '../../core/base/side-by-side.ts';
import type { LostNode } from '../../core/plugin/nodes.ts';
import { rowPages } from '../../core/plugin/row-pages.ts';
import { taskKind, taskOf } from './document.ts';
import type { TasksKit } from './kit.ts';
import { taskLimits } from './limits.ts';
import { task } from './task.ts';

/** Tells every task that processes worked at which are gone: it waits for another try. */
export async function lostNode(lost: LostNode, kit: TasksKit): Promise<void> {
  const where = { phase: 'running' };
  for await (const rows of rowPages(taskKind, { where, page, resources: kit.resources })) {
    const lastSign = await lost.lastSigns();
    const told = rows.flatMap((row) =>
      taskOf(row)
        .incarnations.filter((incarnation) => lastSign(incarnation) !== undefined)
        .map((incarnation) => ({ id: row.id, incarnation })),
    );
    await sideBySide(told, async ({ id, incarnation }) => {
      await kit.actors.ask(task, id, { type: 'node.lost', incarnation }).catch(unlessRefused);
    });
  }
}

const page = taskLimits.lostAtOnce.value;
