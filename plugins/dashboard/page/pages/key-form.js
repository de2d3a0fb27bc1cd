import { useState } from 'preact/hooks';
import { call } from '../lib/api.js';
import { html } from '../lib/html.js';
import { useWrite } from '../lib/load.js';
import { useOpenapi } from '../lib/openapi.js';
import { Dialog, Field, Problem } from '../lib/parts.js';
import { accessLines, choicesOf, methods, resourcesOf, rulesOf } from '../lib/scopes.js';

/** Days that a key may be asked to live. */
const lives = [
  ['', 'Never'],
  ['1', 'In a day'],
  ['30', 'In 30 days'],
  ['365', 'In a year'],
];

/** `onDone(token)` with the key, which the server shows once. */
export function KeyForm({ onClose, onDone }) {
  const resources = resourcesOf(useOpenapi());
  const [name, setName] = useState('');
  const [isAll, setAll] = useState(false);
  const [chosen, setChosen] = useState(new Set());
  const [origins, setOrigins] = useState('');
  const [days, setDays] = useState('');
  const { run, isBusy, problem } = useWrite();
  const allowedOrigins = origins.split(/\s+/).filter((origin) => origin !== '');
  const access = {
    ...(!isAll && { rules: rulesOf(chosen, resources) }),
    ...(allowedOrigins.length > 0 && { cors: { allowedOrigins } }),
  };
  const save = async (event) => {
    event.preventDefault();
    const expiry = days === '' ? {} : { expiresAt: Date.now() + Number(days) * 86_400_000 };
    const token = await run(() => call('POST', '/api/api-token', { body: { name, access, ...expiry } }));
    if (token) onDone(token);
  };
  return html`<${Dialog} title="Create a key" className="wide" onClose=${onClose}>
    <form class="stack" onSubmit=${save}>
      <${Field} label="Name" hint="Of the program that uses it"><input name="name" required value=${name} onInput=${({ target }) => setName(target.value)} /><//>
      <fieldset class="field">
        <legend class="label">It may do</legend>
        <label class="row"><input type="radio" name="all" checked=${!isAll} onChange=${() => setAll(false)} /> What is ticked here</label>
        <label class="row"><input type="radio" name="all" checked=${isAll} onChange=${() => setAll(true)} /> Everything that you may do</label>
      </fieldset>
      ${!isAll && html`<${Tree} resources=${resources} chosen=${chosen} onChange=${setChosen} />`}
      <div class="field"><span class="label">As rules</span>
        <pre class="code wrap" tabindex="0" aria-label="Rules of the key">${accessLines(access).join('\n')}</pre>
      </div>
      <${Field} label="Origins" hint="Browser pages that may use it, such as https://studio.example. Empty: none">
        <input name="origins" value=${origins} onInput=${({ target }) => setOrigins(target.value)} />
      <//>
      <${Field} label="Expires" hint="A key that you make never lives longer than your own">
        <select name="expires" value=${days} onChange=${({ target }) => setDays(target.value)}>
          ${lives.map(([value, title]) => html`<option value=${value}>${title}</option>`)}
        </select>
      <//>
      <${Problem} text=${problem} />
      <div class="row">
        <button class="button primary" disabled=${isBusy || (!isAll && chosen.size === 0)}>Create</button>
        <button class="button" type="button" onClick=${onClose}>Cancel</button>
      </div>
    </form>
  <//>`;
}

/** Resources × methods; a resource opens to its paths. */
function Tree({ resources, chosen, onChange }) {
  const [open, setOpen] = useState(new Set());
  const set = (choices, isOn) => {
    const next = new Set(chosen);
    for (const choice of choices) {
      if (isOn) next.add(choice);
      else next.delete(choice);
    }
    onChange(next);
  };
  const toggle = (name) => setOpen(open.symmetricDifference(new Set([name])));
  const cell = (choices, label) => {
    if (choices.length === 0) return html`<td></td>`;
    const on = choices.filter((choice) => chosen.has(choice)).length;
    return html`<td><input type="checkbox" aria-label=${label} checked=${on === choices.length}
      indeterminate=${on > 0 && on < choices.length} onChange=${({ target }) => set(choices, target.checked)} /></td>`;
  };
  const rowsOf = (resource) => {
    const { name, paths } = resource;
    const isOpen = open.has(name);
    const group = html`<tr class="group" key=${name}>
      <th scope="row">
        <button class="button plain" type="button" aria-expanded=${isOpen} onClick=${() => toggle(name)}>${isOpen ? '▾' : '▸'} ${name}</button>
      </th>
      ${methods.map((method) => cell(choicesOf(resource, method), `${method} ${name}, all of it`))}
    </tr>`;
    const parts = paths.map(
      ({ path, methods: possible }) => html`<tr class="part" key=${path}>
        <th scope="row">${path}</th>
        ${methods.map((method) => cell(possible.includes(method) ? [`${method} ${path}`] : [], `${method} ${path}`))}
      </tr>`,
    );
    return isOpen ? [group, ...parts] : [group];
  };
  return html`<div class="tree" tabindex="0" role="group" aria-label="What the key may do">
    <table>
      <thead>
        <tr><th scope="col">Path</th>${methods.map((method) => html`<th scope="col">${method.toUpperCase()}</th>`)}</tr>
      </thead>
      <tbody>${resources.flatMap(rowsOf)}</tbody>
    </table>
  </div>`;
}
