import type { StoredResource } from '../../core/ports/store.ts';
import type { Phase, TaskContext, TaskSettings } from '../../machines/task.ts';

export const taskKind = 'task';

/** What is stored of a task: the row that the API reads. */
export interface TaskDocument
  extends Omit<TaskContext, 'task' | 'works'>,
    Omit<TaskSettings, 'deadline' | 'lateMessage' | 'keptFor'> {
  readonly phase: Phase;
  /** Processes that work at it. */
  readonly incarnations: readonly string[];
}

export function taskOf(row: StoredResource): TaskDocument {
  return JSON.parse(row.body) as TaskDocument;
}

/** The same, of an actor's state. */
export function documentOf(context: TaskContext, phase: Phase): TaskDocument {
  const { task, works, ...rest } = context;
  const { lateMessage: _, keptFor: __, ...settings } = task;
  return { ...settings, ...rest, phase, incarnations: works.map(({ incarnation }) => incarnation) };
}
