import { signal } from '@preact/signals';
import { key, sentence } from './api.js';
import { withUndo } from './parts.js';

/** Ids of what is being deleted: lists leave them out. */
export const leaving = signal(new Set());
/** Why the last deletion failed, for the list that shows the row again. */
export const deletionProblem = signal(undefined);

/** Deletes a thing when the time to undo that is over. `path`: of the API. */
export function deleteLater({ id, path, title }) {
  deletionProblem.value = undefined;
  leaving.value = new Set([...leaving.value, id]);
  const restore = () => {
    leaving.value = new Set([...leaving.value].filter((other) => other !== id));
  };
  withUndo(`${title} is deleted.`, {
    undo: restore,
    commit: async () => {
      try {
        // `keepalive`: the page may be closing.
        const headers = { authorization: `Bearer ${key.value}` };
        const answer = await fetch(path, { method: 'DELETE', keepalive: true, headers });
        if (answer.ok || answer.status === 404) return;
        const body = await answer.json().catch(() => ({}));
        deletionProblem.value = `${title} is still there: ${body.errors?.[0] ?? `HTTP ${answer.status}`}`;
      } catch (error) {
        deletionProblem.value = `${title} is still there: ${sentence(error)}`;
      }
      restore();
    },
  });
}
