import type { StoredResource } from '../../core/ports/store.ts';
import type { Phase, TaskContext, TaskSettings } from '../../machines/task.ts';

export const taskKind = 'task';

/** What is stored of a task: the row that the API reads. */
export interface TaskDocument
  extends Omit<TaskContext, 'task' | 'works' | 'secret'>,
    Omit<TaskSettings, 'deadline' | 'lateMessage' | 'keptFor' | 'isServed'> {
  readonly phase: Phase;
  /** Processes that work at it. */
  readonly incarnations: readonly string[];
}

export function taskOf(row: StoredResource): TaskDocument {
  return JSON.parse(row.body) as TaskDocument;
}

/** The same, of an actor's state. */
export function documentOf(context: TaskContext, phase: Phase): TaskDocument {
  const { id, account, type, name, inputAssetId, outputAssetId, params, createdByTokenName } = context.task;
  const { deadline, updatedAt, works, progress, errorMessage, output, retries } = context;
  return {
    ...{ id, account, type, name, inputAssetId, outputAssetId, params, createdByTokenName },
    ...{ createdAt: context.task.createdAt, deadline, updatedAt, progress, errorMessage, output, retries },
    ...{ phase, incarnations: works.map(({ incarnation }) => incarnation) },
  };
}
