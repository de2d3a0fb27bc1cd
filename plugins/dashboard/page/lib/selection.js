import { useState } from 'preact/hooks';
import { allows, call } from './api.js';
import { deleteLater } from './deletion.js';
import { html } from './html.js';
import { useWrite } from './load.js';
import { Confirm } from './parts.js';

/** Rows that the reader has ticked, by their ids: `{has, toggle, set, ids}`. */
export function useSelection() {
  const [ids, set] = useState(new Set());
  return {
    ids,
    has: (id) => ids.has(id),
    set: (next) => set(new Set(next)),
    toggle: (id) =>
      set((before) => {
        const next = new Set(before);
        if (!next.delete(id)) next.add(id);
        return next;
      }),
  };
}

/** Names in a question; of more it says how many. */
const mostNames = 5;

/**
 * What can be done with the selected rows: to delete them. `remove`: `{path(row), one, many, isFinal?, isLive?(row), isOwn?(row)}`.
 * `one` and `many` name them; `isFinal`: it cannot be undone, so it is asked first, and for what is on the air it has to be typed. `isOwn`: the key of
 * the reader, which goes last.
 */
export function SelectionBar({ rows, selection, remove, onDone }) {
  const [isAsking, setAsking] = useState(false);
  const { run, isBusy, problem } = useWrite();
  const chosen = rows.filter(({ id }) => selection.has(id));
  if (chosen.length === 0) return null;
  const allowed = chosen.filter((row) => allows('DELETE', remove.path(row).slice('/api/'.length)));
  const own = remove.isOwn && allowed.find(remove.isOwn);
  const words = allowed.length === 1 ? `the ${remove.one}` : `${allowed.length} ${remove.many}`;
  const start = () => {
    if (remove.isFinal) return setAsking(true);
    const things = allowed.map((row) => ({ id: row.id, path: remove.path(row), title: row.name }));
    deleteLater(things, { many: remove.many });
    return selection.set([]);
  };
  const removeNow = async () => {
    const inOrder = [...allowed.filter((row) => row !== own), ...(own ? [own] : [])];
    const isDone = await run(() => inTurn(inOrder, (row) => call('DELETE', remove.path(row))));
    // Those that went are gone, also when one could not.
    onDone();
    if (!isDone) return;
    setAsking(false);
    selection.set([]);
  };
  const live = remove.isLive ? allowed.filter(remove.isLive) : [];
  return html`<div class="selection">
    <strong role="status">${chosen.length} selected</strong>
    <button class="button bad" type="button" disabled=${allowed.length === 0 || isBusy} onClick=${start}>Delete</button>
    <button class="button plain" type="button" onClick=${() => selection.set([])}>Select none</button>
    ${allowed.length < chosen.length && html`<span class="muted">Your key may delete ${allowed.length} of them.</span>`}
  </div>
    ${
      isAsking &&
      html`<${Confirm} title=${`Delete ${words}?`} action="Delete" must=${live.length > 0 ? 'delete' : undefined} problem=${problem} onDo=${() => isBusy || removeNow()} onClose=${() => setAsking(false)}>
        <p>${namesOf(allowed)}. This cannot be undone.</p>
        ${live.length > 0 && html`<p class="problem">${live.length === 1 ? `${live[0].name} is on the air: its broadcast ends, and viewers lose the picture.` : `${live.length} of them are on the air: their broadcasts end, and viewers lose the picture.`}</p>`}
        ${own && html`<p class="problem">You are signed in with ${own.name}. You will be signed out.</p>`}
        ${remove.note && html`<p class="muted">${remove.note}</p>`}
      <//>`
    }`;
}

function namesOf(rows) {
  const named = rows.slice(0, mostNames).map(({ name }) => name);
  const rest = rows.length - named.length;
  return `${named.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

/** One after another, so that the server's sentence is about the one that failed. */
async function inTurn(rows, work) {
  for (const row of rows) await work(row);
}
