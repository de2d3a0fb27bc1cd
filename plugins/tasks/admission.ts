import { hasCode, isRefusal, unlessRefused } from '../../core/base/fault.ts';
import type { LoggedEvent } from '../../core/ports/store.ts';
import type { Place } from '../../machines/task-lane.ts';
import { type TaskPhase, taskKinds } from './contract.ts';
import type { TasksKit } from './kit.ts';
import { lane, laneId } from './lane.ts';
import { task } from './task.ts';

/**
 * How tasks that the server works at come to their turn: one that is pending takes a place in its lane, one that has ended
 * gives it back, and one that the lane lets in is told. Each may happen twice or late: see the lane.
 */
export const admissionReactions = {
  'task.spawned': moved,
  'task.updated': moved,
  'task.completed': moved,
  'task.failed': moved,
  'task.admitted': admitted,
};

async function moved(event: LoggedEvent, kit: TasksKit): Promise<void> {
  const { id, type, userId, status } = shownIn(event);
  const kind = kit.offered(taskKinds).find((one) => one.type === type);
  // Of a type whose plugin is off it is not known.
  if (kind && !kind.run) return;
  const turn = { account: userId, type, place: { id, round: status.retries ?? 0 } };
  if (status.phase === 'pending') await take(turn, kit);
  else if (status.phase !== 'waiting' && status.phase !== 'running') await release(turn, kit);
}

async function admitted(event: LoggedEvent, kit: TasksKit): Promise<void> {
  const { id, round, account, type } = (JSON.parse(event.body) as { payload: Admission }).payload;
  try {
    await kit.actors.ask(task, id, { type: 'admit', round });
  } catch (error) {
    if (!isRefusal(error)) throw error;
    // It has ended since, or has never been for the server to work at.
    await release({ account, type, place: { id, round } }, kit);
  }
}

async function take({ account, type, place }: Turn, { actors, config }: TasksKit): Promise<void> {
  const id = laneId({ account, type });
  const command = { type: 'take', place, most: config.runningPerAccount } as const;
  try {
    await actors.ask(lane, id, command);
  } catch (error) {
    if (!hasCode(error, 'actor.not_found')) throw error;
    await actors.spawn(lane, id, { account, type }, { cause: `lane/${id}` }).catch(unlessRefused);
    await actors.ask(lane, id, command);
  }
}

async function release({ account, type, place }: Turn, { actors, config }: TasksKit): Promise<void> {
  const command = { type: 'release', place, most: config.runningPerAccount } as const;
  await actors.ask(lane, laneId({ account, type }), command).catch(unlessRefused);
}

interface Turn {
  readonly account: string;
  readonly type: string;
  readonly place: Place;
}

interface Admission extends Place {
  readonly account: string;
  readonly type: string;
}

function shownIn(event: LoggedEvent): ShownTask {
  return (JSON.parse(event.body) as { payload: { task: ShownTask } }).payload.task;
}

/** Of the task object. */
interface ShownTask {
  readonly id: string;
  readonly type: string;
  readonly userId: string;
  readonly status: { readonly phase: TaskPhase; readonly retries?: number };
}
