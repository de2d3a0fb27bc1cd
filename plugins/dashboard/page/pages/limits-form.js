import { useState } from 'preact/hooks';
import { call } from '../lib/api.js';
import { html } from '../lib/html.js';
import { amountOf, limitText, usageFacts } from '../lib/limits.js';
import { useLoad, useWrite } from '../lib/load.js';
import { AsCurl, Bones, Dialog, Problem } from '../lib/parts.js';

/** What an account uses, and its limits to be changed. `onDone()` after the server took them. */
export function LimitsForm({ account, onClose, onDone }) {
  const { data, error } = useLoad(
    () => call('GET', '/api/account/usage', { query: { accountId: account.id } }),
    {
      deps: [account.id],
    },
  );
  return html`<${Dialog} title=${`Use and limits of ${account.name}`} className="wide" onClose=${onClose}>
    ${data ? html`<${Form} account=${account} usage=${data} onClose=${onClose} onDone=${onDone} />` : html`<${error ? Problem : Bones} text=${error} rows=${8} />`}
  <//>`;
}

function Form({ account: { id, limits }, usage, onClose, onDone }) {
  const [draft, setDraft] = useState(() => draftOf(limits, Object.keys(usage)));
  const { run, isBusy, problem } = useWrite();
  const path = `/api/account/${id}`;
  const body = { limits: limitsOf(draft) };
  const save = async (event) => {
    event.preventDefault();
    if (await run(() => call('PATCH', path, { body }))) onDone();
  };
  const set = (name, changes) => setDraft({ ...draft, [name]: { ...draft[name], ...changes } });
  return html`<form class="stack" onSubmit=${save}>
    <div class="limit-rows">
      ${Object.entries(draft).map(
        ([name, values]) =>
          html`<${Row} key=${name} name=${name} values=${values} of=${usage[name]} onChange=${(changes) => set(name, changes)} />`,
      )}
    </div>
    <${Problem} text=${problem} />
    <div class="row">
      <button class="button primary" disabled=${isBusy}>Save</button>
      <button class="button" type="button" onClick=${onClose}>Cancel</button>
    </div>
    <${AsCurl} method="PATCH" path=${path} body=${body} />
  </form>`;
}

const kinds = [
  ['', 'As the deployment'],
  ['none', 'No limit'],
  ['own', 'At most'],
];

function Row({ name, values: { kind, value }, of: { used, limit }, onChange }) {
  const { title, hint, unit } = usageFacts(name);
  const today = `${amountOf(name, used)}${limit === null ? ', no limit' : ` of ${limitText(name, limit)}`}`;
  return html`<div class="limit-row">
    <span>${title} ${hint && html`<span class="hint">${hint}</span>`}<br /><span class="muted">${today}</span></span>
    <select aria-label=${`Limit: ${title}`} value=${kind} onChange=${({ target }) => onChange({ kind: target.value })}>
      ${kinds.map(([of, text]) => html`<option value=${of}>${text}</option>`)}
    </select>
    <span class="row">
      ${
        kind === 'own' &&
        html`<input type="number" min="0" step="any" required aria-label=${`${title}, at most${unit ? `, ${unit}` : ''}`} value=${value} onInput=${({ target }) => onChange({ value: target.value })} />
          ${unit && html`<span class="muted">${unit}</span>`}`
      }
    </span>
  </div>`;
}

function draftOf(limits, names) {
  const draftFor = (name) => {
    const own = limits?.[name];
    if (own === undefined) return { kind: '', value: '' };
    return own === null
      ? { kind: 'none', value: '' }
      : { kind: 'own', value: own / (usageFacts(name).by ?? 1) };
  };
  return Object.fromEntries(names.map((name) => [name, draftFor(name)]));
}

/** null: all as the deployment says. */
function limitsOf(draft) {
  const own = Object.entries(draft).flatMap(([name, { kind, value }]) => {
    if (kind === '') return [];
    return [[name, kind === 'none' ? null : Math.round(Number(value) * (usageFacts(name).by ?? 1))]];
  });
  return own.length === 0 ? null : Object.fromEntries(own);
}
