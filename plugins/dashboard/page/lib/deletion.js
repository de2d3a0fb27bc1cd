import { signal } from '@preact/signals';
import { key } from './api.js';
import { lastCall } from './last-call.js';
import { withUndo } from './parts.js';

/** Ids of what is being deleted: lists leave them out. */
export const leaving = signal(new Set());
/** Why the last deletion failed, for the list that shows the row again. */
export const deletionProblem = signal(undefined);

/** Deletes a thing when the time to undo that is over. `path`: of the API. */
export function deleteLater({ id, path, title }) {
  deletionProblem.value = undefined;
  // The reader may have signed out when the time to undo is over.
  const own = key.value;
  leaving.value = new Set([...leaving.value, id]);
  const restore = () => {
    leaving.value = new Set([...leaving.value].filter((other) => other !== id));
  };
  withUndo(`${title} is deleted.`, {
    undo: restore,
    commit: async () => {
      try {
        await lastCall('DELETE', path, { key: own });
      } catch (error) {
        deletionProblem.value = `${title} is still there: ${error.message}`;
        restore();
      }
    },
  });
}
