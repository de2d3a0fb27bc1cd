import { definePlugin, type Plugin } from '../../core/plugin/plugin.ts';
import { offer } from '../../core/plugin/token.ts';
import {
  type Renewal,
  type TaskKind,
  type TaskResult,
  type Tasks,
  type TaskWork,
  taskKinds,
  tasks,
} from '../../plugins/tasks/contract.ts';

/** One try at a task that a test decides over. */
export interface ScriptedWork extends TaskWork {
  finish(result: TaskResult): void;
  fail(error: unknown): void;
}

/**
 * A plugin that makes tasks of the types `import` and `export`, whose work ends when and as a test says. A try that is told to
 * stop does so, unless `isStubborn`.
 */
export function taskMaker(
  options: { isStubborn?: boolean; types?: readonly TaskKind['type'][] } = {},
): TaskMaker {
  let made: Tasks | undefined;
  const works: ScriptedWork[] = [];
  const run = (work: TaskWork) =>
    new Promise<TaskResult>((finish, fail) => {
      works.push({ ...work, finish, fail });
      if (!options.isStubborn) work.signal.addEventListener('abort', () => fail(work.signal.reason));
    });
  const renewals: string[] = [];
  const kindOf = (type: TaskKind['type']): TaskKind => ({
    type,
    async renew({ id }): Promise<Renewal> {
      renewals.push(id);
      return { deadline: Number.MAX_SAFE_INTEGER };
    },
    run,
  });
  const plugin = definePlugin({
    id: 'task-maker',
    summary: 'makes the tasks that a test names',
    needs: [tasks],
    offers: (options.types ?? ['import', 'export']).map((type) => offer(taskKinds, () => kindOf(type))),
    start(kit) {
      made = kit.use(tasks);
      return undefined;
    },
  }) as unknown as Plugin;
  return {
    ...{ plugin, works, renewals },
    get tasks() {
      if (!made) throw new Error('the maker of tasks was not started');
      return made;
    },
    last(id) {
      const work = works.findLast((one) => id === undefined || one.id === id);
      if (!work) throw new Error(`nothing worked at ${id ?? 'any task'}`);
      return work;
    },
  };
}

export interface TaskMaker {
  readonly plugin: Plugin;
  readonly tasks: Tasks;
  /** All tries so far, oldest first. */
  readonly works: readonly ScriptedWork[];
  /** Ids of tasks that were asked to be tried again. */
  readonly renewals: readonly string[];
  /** The try that began last, of this task or any. */
  last(id?: string): ScriptedWork;
}
