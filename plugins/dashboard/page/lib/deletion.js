import { signal } from '@preact/signals';
import { key } from './api.js';
import { lastCall } from './last-call.js';
import { withUndo } from './parts.js';

/** Ids of what is being deleted: lists leave them out. */
export const leaving = signal(new Set());
/** Why the last deletion failed, for the list that shows the row again. */
export const deletionProblem = signal(undefined);

/** Deletes things when the time to undo that is over. `things`: `{id, path, title}`; `path`: of the API. `many` names several. */
export function deleteLater(things, { many } = {}) {
  if (things.length === 0) return;
  deletionProblem.value = undefined;
  // The reader may have signed out when the time to undo is over.
  const own = key.value;
  leaving.value = new Set([...leaving.value, ...things.map(({ id }) => id)]);
  const restore = (those) => {
    const ids = new Set(those.map(({ id }) => id));
    leaving.value = new Set([...leaving.value].filter((id) => !ids.has(id)));
  };
  const text =
    things.length === 1 ? `${things[0].title} is deleted.` : `${things.length} ${many} are deleted.`;
  withUndo(text, {
    undo: () => restore(things),
    commit: async () => {
      // All at once: the page may be closing.
      const calls = things.map(({ path }) => lastCall('DELETE', path, { key: own }));
      const problems = (await Promise.allSettled(calls)).map(({ reason }) => reason?.message);
      const failed = things.filter((_, at) => problems[at] !== undefined);
      if (failed.length === 0) return;
      const first = problems.find((problem) => problem !== undefined);
      const more = failed.length > 1 ? ` So are ${failed.length - 1} more.` : '';
      deletionProblem.value = `${failed[0].title} is still there: ${first}${more}`;
      restore(failed);
    },
  });
}
