import { milliseconds } from '../../core/base/config-fields.ts';
import { Fault, isAccepted, unlessRefused, unlessThere } from '../../core/base/fault.ts';
import { sideBySide } from '../../core/base/side-by-side.ts';
import { quota } from '../../core/http/quota.ts';
import type { ActorType } from '../../core/plugin/actor.ts';
import type { LostNode } from '../../core/plugin/nodes.ts';
import { rowPages } from '../../core/plugin/row-pages.ts';
import type { StoredResource } from '../../core/ports/store.ts';
import {
  type Phase,
  phaseOf,
  type TaskContext,
  type TaskEmitted,
  type TaskSettings,
  taskMachine,
} from '../../machines/task.ts';
import type { TasksKit } from './config.ts';
import { type Tasks, taskKinds } from './contract.ts';
import { sealedSecret } from './secret.ts';

export const taskKind = 'task';

/** One per task, with the id of the task. */
export const task: ActorType<typeof taskMachine> = {
  type: 'task',
  machine: taskMachine,
  version: 1,
  get kinds() {
    return { [taskKind]: 'own' } as const;
  },
  rows(context, state) {
    const { id, account, createdAt, name, type, inputAssetId, isServed } = context.task;
    const row = { kind: taskKind, id, account, createdAt, name };
    if (state === 'forgotten') return [{ ...row, body: null, indexes: {} }];
    const phase = phaseOf(state);
    const indexes = {
      ...{ type, phase },
      // By it the lane finds those that wait for it.
      ...(phase === 'pending' && isServed && { queue: type }),
      ...(inputAssetId !== null && { inputAssetId }),
    };
    return [{ ...row, body: JSON.stringify(documentOf(context, phase)), indexes }];
  },
  describe(emitted, context) {
    const document = documentOf(context, (emitted as unknown as TaskEmitted).phase);
    return { account: document.account, stream: '', body: { payload: { task: presentTask(document) } } };
  },
};

/** What is stored of a task: the row that the API reads. */
export interface TaskDocument
  extends Omit<TaskContext, 'task' | 'works' | 'secret'>,
    Omit<TaskSettings, 'deadline' | 'lateMessage' | 'keptFor' | 'isServed'> {
  readonly phase: Phase;
  /** Processes that work on it. */
  readonly incarnations: readonly string[];
}

export function taskOf(row: StoredResource): TaskDocument {
  return JSON.parse(row.body) as TaskDocument;
}

function documentOf(context: TaskContext, phase: Phase): TaskDocument {
  const { id, account, type, name, inputAssetId, outputAssetId, params, createdByTokenName } = context.task;
  const { deadline, updatedAt, works, progress, errorMessage, output, retries } = context;
  return {
    ...{ id, account, type, name, inputAssetId, outputAssetId, params, createdByTokenName },
    ...{ createdAt: context.task.createdAt, deadline, updatedAt, progress, errorMessage, output, retries },
    ...{ phase, incarnations: works.map(({ incarnation }) => incarnation) },
  };
}

/** The task object, for its owner and in events. */
export function presentTask(document: TaskDocument): Record<string, unknown> {
  const { id, type, name, account, createdAt, inputAssetId, outputAssetId, params, output } = document;
  const { phase, updatedAt, progress, errorMessage, retries, createdByTokenName } = document;
  return {
    ...{ id, type, name, userId: account, createdAt },
    ...(inputAssetId !== null && { inputAssetId }),
    ...(outputAssetId !== null && { outputAssetId }),
    ...(createdByTokenName !== null && { createdByTokenName }),
    ...(params !== null && { params: { [type]: params } }),
    ...(output !== null && { output: { [type]: output } }),
    status: {
      ...{ phase, updatedAt, progress },
      ...(errorMessage !== null && { errorMessage }),
      ...(retries > 0 && { retries }),
    },
  };
}

/** Every task that a lost process worked on waits for another attempt. */
export async function lostNode(lost: LostNode, { resources, actors }: TasksKit): Promise<void> {
  for await (const rows of rowPages(taskKind, { where: { phase: 'running' }, page: 200, resources })) {
    const lastSign = await lost.lastSigns();
    const works = rows.flatMap((row) =>
      taskOf(row).incarnations.map((incarnation) => ({ id: row.id, incarnation })),
    );
    const gone = works.filter(({ incarnation }) => lastSign(incarnation) !== undefined);
    await sideBySide(gone, async ({ id, incarnation }) => {
      await actors.ask(task, id, { type: 'node.lost', incarnation }).catch(unlessRefused);
    });
  }
}

/** How long a task may wait for its turn unless its maker says otherwise, ms. */
export const longestWait = 7 * 24 * 3_600_000;

/** Tasks, for the plugins that make them. */
export function making(kit: TasksKit): Tasks {
  const { actors, resources, clock, config, deployment } = kit;
  const { incarnation } = deployment.node;
  const places = quota({
    clock,
    most: config.maxPerAccount,
    count: (account) => resources.count(taskKind, { account }),
    full: () => tooMany(config.maxPerAccount),
  });
  return {
    async spawn(given) {
      const { inputAssetId = null, outputAssetId = null, params = null, createdByTokenName = null } = given;
      const { id, account, type, name, secret = null, deadline = clock.now() + longestWait } = given;
      const { lateMessage = `The ${type} was not started within a week.` } = given;
      const isServed = kit.offered(taskKinds).some((kind) => kind.type === type && kind.run !== undefined);
      await places.admit(account);
      const settings = {
        ...{ id, account, type, name, inputAssetId, outputAssetId, params, createdByTokenName },
        ...{ createdAt: clock.now(), deadline, lateMessage, keptFor: milliseconds(config.keptFor), isServed },
      };
      const input = { task: settings, secret: sealedSecret(id, { secret, kit }) };
      await actors.spawn(task, id, input, { cause: `task/${id}` }).catch(unlessThere);
    },
    async find(id) {
      const row = await resources.get(taskKind, id);
      if (!row) return undefined;
      const { phase, account, inputAssetId, outputAssetId } = taskOf(row);
      return { phase, account, inputAssetId, outputAssetId };
    },
    begin: (id, workId) =>
      isAccepted(actors.ask(task, id, { type: 'begin', work: { id: workId, incarnation } })),
    progress: (id, to) => isAccepted(actors.ask(task, id, { type: 'progress', ...to })),
    async interrupted(id, workId) {
      await isAccepted(actors.ask(task, id, { type: 'interrupted', workId }));
    },
    async fail(id, why) {
      const asked = actors.ask(task, id, { type: 'fail', ...why });
      return (await isAccepted(asked)) && (await asked).value === 'failed';
    },
    async complete(id, output) {
      await isAccepted(actors.ask(task, id, { type: 'complete', output }));
    },
    async cancel(id) {
      await isAccepted(actors.ask(task, id, { type: 'cancel' }));
    },
    async cancelOf(assetId) {
      const where = { inputAssetId: assetId };
      for await (const rows of rowPages(taskKind, { where, page: 100, resources })) {
        const running = rows.filter((row) => !ended.has(taskOf(row).phase));
        await Promise.all(running.map(({ id }) => isAccepted(actors.ask(task, id, { type: 'cancel' }))));
      }
    },
    async show(id) {
      const row = await resources.get(taskKind, id);
      return row && presentTask(taskOf(row));
    },
  };
}

const ended: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

function tooMany(most: number): Fault {
  const message = `This account has ${most} tasks, the most it may have (plugins.tasks.maxPerAccount). Tasks that have ended are removed after a while.`;
  return new Fault('task.too_many', { status: 409, message });
}
