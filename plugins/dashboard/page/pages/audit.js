import { html } from '../lib/html.js';
import { List } from '../lib/list.js';
import { AsCurl, Dot, Empty, Head, Id, Time } from '../lib/parts.js';

export function Page() {
  return html`<${Head} title="Audit log" />
    <${List}
      path="/api/audit"
      filters=${[
        { id: 'action', title: 'Call' },
        { id: 'target', title: 'Target' },
        { id: 'keyId', title: 'API key' },
      ]}
      columns=${columns}
      empty=${html`<${Empty} title="Nothing to account for yet">
        <p>API keys that are made, everything that is deleted, and sign-ins are listed here: who did it, from where and when.</p>
      <//>`}
    />
    <${AsCurl} path="/api/audit" />`;
}

const columns = [
  { title: 'When', order: 'createdAt', cell: ({ at }) => html`<${Time} at=${at} />` },
  { title: 'Call', cell: ({ action }) => html`<code>${action}</code>` },
  { title: 'Target', cell: ({ target }) => (target ? html`<${Id} id=${target} />` : '–') },
  { title: 'API key', cell: ({ actor }) => html`<${Actor} actor=${actor} />` },
  { title: 'Address', cell: ({ actor: { ip } }) => ip ?? '–' },
  { title: 'Outcome', cell: ({ detail }) => html`<${Outcome} code=${detail.code} />` },
];

function Actor({ actor: { keyId, accountId } }) {
  if (keyId) return html`<${Id} id=${keyId} />`;
  return accountId ? 'The first key' : 'None';
}

function Outcome({ code }) {
  return code ? html`<${Dot} kind="bad">Refused: ${code}<//>` : html`<${Dot} kind="good">Done<//>`;
}
