import { useState } from 'preact/hooks';
import { access, allows, call } from '../lib/api.js';
import { html } from '../lib/html.js';
import { List } from '../lib/list.js';
import { useWrite } from '../lib/load.js';
import { AsCurl, Confirm, Copied, Dialog, Empty, Head, Id, Time } from '../lib/parts.js';
import { go, place, withQuery } from '../lib/place.js';
import { accessLines } from '../lib/scopes.js';
import { KeyForm } from './key-form.js';

export function Page() {
  const isNew = place.value.query.has('new');
  const setNew = (isOpen) => go(withQuery({ new: isOpen ? 1 : undefined }), { replace: true });
  const [made, setMade] = useState();
  const [deleting, setDeleting] = useState();
  const [turn, setTurn] = useState(0);
  const again = () => setTurn((before) => before + 1);
  const create =
    allows('POST', 'api-token') &&
    html`<button class="button primary" type="button" onClick=${() => setNew(true)}>Create a key</button>`;
  const created = (key) => {
    setNew(false);
    setMade(key);
    again();
  };
  const deleted = () => {
    setDeleting(undefined);
    again();
  };
  return html`<${Head} title="API keys">${create}<//>
    <${List}
      path="/api/api-token"
      turn=${turn}
      remove=${remove}
      filters=${[{ id: 'name', title: 'Name' }]}
      columns=${columnsOf(setDeleting)}
      empty=${html`<${Empty} title="No keys but the first one">
        <p>The key that this server made at its first start may do everything. Give each program a key of its own, which may do what that program does.</p>
        ${create}
      <//>`}
    />
    <${AsCurl} path="/api/api-token" />
    ${isNew && html`<${KeyForm} onClose=${() => setNew(false)} onDone=${created} />`}
    ${made && html`<${Made} token=${made} onClose=${() => setMade(undefined)} />`}
    ${deleting && html`<${Deletion} token=${deleting} onClose=${() => setDeleting(undefined)} onDone=${deleted} />`}`;
}

const remove = {
  one: 'API key',
  many: 'API keys',
  path: ({ id }) => `/api/api-token/${id}`,
  isFinal: true,
  isOwn: ({ id }) => id === access.value?.id,
  note: 'They stop working at once, and programs that use them are refused.',
};

function columnsOf(setDeleting) {
  return [
    { title: 'Name', order: 'name', cell: (token) => html`<${Name} token=${token} />` },
    { title: 'Id', cell: ({ id }) => html`<${Id} id=${id} />` },
    { title: 'May do', cell: (token) => html`<${Access} token=${token} />` },
    {
      title: 'Origins',
      cell: ({ access: { cors } }) => {
        const text = cors?.allowedOrigins.join(', ') || 'No browser page';
        return html`<span class="some" title=${text}>${text}</span>`;
      },
    },
    {
      title: 'Last used',
      cell: ({ lastUsedAt }) => (lastUsedAt === undefined ? 'Never' : html`<${Time} at=${lastUsedAt} />`),
    },
    { title: 'Created', order: 'createdAt', cell: ({ createdAt }) => html`<${Time} at=${createdAt} />` },
    {
      title: '',
      isEnd: true,
      cell: (token) =>
        allows('DELETE', `api-token/${token.id}`) &&
        html`<button class="copy" type="button" aria-label=${`Delete ${token.name}`} onClick=${() => setDeleting(token)}>Delete</button>`,
    },
  ];
}

function Name({ token: { name, expiresAt } }) {
  if (expiresAt === undefined) return name;
  const word = expiresAt <= Date.now() ? 'expired' : 'expires';
  return html`${name} <span class="muted">${word} <${Time} at=${expiresAt} /></span>`;
}

function Access({ token }) {
  const lines = accessLines(token.access);
  return html`<span class="some" title=${lines.join('\n')}>${lines.join('; ')}</span>`;
}

/** The only time that the key is shown. */
function Made({ token: { name, key }, onClose }) {
  return html`<${Dialog} title=${`The key ${name}`} onClose=${onClose}>
    <p>Copy it now: it is not shown again.</p>
    <${Copied} text=${key} label="the key" />
    <div><button class="button primary" type="button" onClick=${onClose}>Done</button></div>
  <//>`;
}

function Deletion({ token: { id, name }, onClose, onDone }) {
  const { run, problem } = useWrite();
  const [isCascade, setCascade] = useState(false);
  const remove = async () => {
    const query = isCascade ? { cascade: 1 } : {};
    if (await run(() => call('DELETE', `/api/api-token/${id}`, { query }))) onDone();
  };
  return html`<${Confirm} title=${`Delete the key ${name}?`} action="Delete the key" problem=${problem} onDo=${remove} onClose=${onClose}>
    <p>It stops working at once, and programs that use it are refused. This cannot be undone.</p>
    <label class="row"><input type="checkbox" checked=${isCascade} onChange=${({ target }) => setCascade(target.checked)} /> Also delete the keys that it made, and those that they made</label>
    ${access.value?.id === id && html`<p class="problem">You are signed in with this key. You will be signed out.</p>`}
  <//>`;
}
