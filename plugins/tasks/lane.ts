import { hasCode, isRefusal, unlessRefused } from '../../core/base/fault.ts';
import type { ActorType } from '../../core/plugin/actor.ts';
import { payloadOf } from '../../core/plugin/events.ts';
import { effect } from '../../core/plugin/plugin.ts';
import type { LoggedEvent } from '../../core/ports/store.ts';
import {
  type LaneEmitted,
  type LaneSettings,
  type Look,
  type Looked,
  type Place,
  taskLaneMachine,
} from '../../machines/task-lane.ts';
import type { config, TasksKit } from './config.ts';
import { type TaskPhase, taskKinds } from './contract.ts';
import { task, taskKind, taskOf } from './task.ts';

/** One per account and type of tasks that the server works on, from the first of them. */
export const lane: ActorType<typeof taskLaneMachine> = {
  type: 'task-lane',
  machine: taskLaneMachine,
  version: 1,
  rows: () => [],
  describe(emitted, { lane: { account, type } }) {
    const { id, round } = emitted as unknown as LaneEmitted;
    // An event of no account is for this plugin alone. Lanes do not wait for each other's events.
    return {
      account: '',
      stream: laneId({ account, type }),
      body: { payload: { id, round, account, type } },
    };
  },
};

/** Finds the tasks that wait for a lane, and those it admitted that have ended or were not told. */
export const lookEffect = effect<Look, Looked, typeof config>({
  concurrency: 4,
  timeout: 30_000,
  async run({ input: { account, type, running, limit } }, { resources }) {
    // Before the waiting ones are read: a task that is admitted in between is in neither list.
    const rows = await Promise.all(running.map(({ id }) => resources.get(taskKind, id)));
    const phases = running.map(({ round }, index) => {
      const row = rows[index];
      const document = row && taskOf(row);
      return document?.retries === round ? document.phase : undefined;
    });
    const waiting = await resources.list(taskKind, {
      account,
      where: { queue: type },
      order: [{ by: 'createdAt', descending: false }],
      limit: limit + 1,
    });
    return {
      gone: running.filter((_, index) => !unended.has(phases[index])),
      untold: running.filter((_, index) => phases[index] === 'pending'),
      waiting: waiting.slice(0, limit).map((row) => ({ id: row.id, round: taskOf(row).retries })),
      hasMore: waiting.length > limit,
    };
  },
});

const unended: ReadonlySet<TaskPhase | undefined> = new Set(['pending', 'waiting', 'running'] as const);

/**
 * How tasks that the server works on get their turn: a pending one takes a place in its lane, one that has ended gives it
 * back, and one that the lane admits is told so. Each may happen twice or late: see the lane.
 */
export const laneReactions = {
  'task.spawned': moved,
  'task.updated': moved,
  'task.completed': moved,
  'task.failed': moved,
  'task.admitted': admitted,
};

async function moved(event: LoggedEvent, kit: TasksKit): Promise<void> {
  const { id, type, userId, status } = payloadOf<{ task: ShownTask }>(event).task;
  const kind = kit.offered(taskKinds).find((one) => one.type === type);
  // When the plugin of the type is off, it is not known whether the server works on it.
  if (kind && !kind.run) return;
  const turn = { account: userId, type, place: { id, round: status.retries ?? 0 } };
  if (status.phase === 'pending') await take(turn, kit);
  else if (!unended.has(status.phase)) await release(turn, kit);
}

async function admitted(event: LoggedEvent, kit: TasksKit): Promise<void> {
  const { id, round, account, type } = payloadOf<Place & LaneSettings>(event);
  try {
    await kit.actors.ask(task, id, { type: 'admit', round });
  } catch (error) {
    if (!isRefusal(error)) throw error;
    // It has ended since, or the server does not work on it.
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

export function laneId({ account, type }: LaneSettings): string {
  return `${account}:${type}`;
}

interface Turn extends LaneSettings {
  readonly place: Place;
}

/** Of the task object. */
interface ShownTask {
  readonly id: string;
  readonly type: string;
  readonly userId: string;
  readonly status: { readonly phase: TaskPhase; readonly retries?: number };
}
