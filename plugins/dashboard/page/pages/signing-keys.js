import { useState } from 'preact/hooks';
import { access, allows, call } from '../lib/api.js';
import { hasField } from '../lib/extensions.js';
import { html } from '../lib/html.js';
import { List } from '../lib/list.js';
import { useWrite } from '../lib/load.js';
import {
  AsCurl,
  Confirm,
  Copied,
  CopyButton,
  Dialog,
  Empty,
  Field,
  Head,
  Id,
  Problem,
  Time,
} from '../lib/parts.js';
import { go, place, withQuery } from '../lib/place.js';
import { signingExample } from '../lib/signing-example.js';

/** Keys that sign tokens of private playback. */
export function Page() {
  const isNew = place.value.query.has('new');
  const setNew = (isOpen) => go(withQuery({ new: isOpen ? 1 : undefined }), { replace: true });
  const [made, setMade] = useState();
  const [deleting, setDeleting] = useState();
  const [turn, setTurn] = useState(0);
  const again = () => setTurn((before) => before + 1);
  if (!hasField('stream', 'playbackPolicy'))
    return html`<${Head} title="Signing keys" /><${Empty} title="Private playback is off"><p>Signing keys come with the plugin <code>protection</code>, which is off on this server.</p><//>`;
  const create =
    allows('POST', 'signing-key') &&
    html`<button class="button primary" type="button" onClick=${() => setNew(true)}>Create a signing key</button>`;
  const created = (key) => {
    setNew(false);
    if (key.privateKey) setMade(key);
    again();
  };
  const deleted = () => {
    setDeleting(undefined);
    again();
  };
  return html`<${Head} title="Signing keys">${create}<//>
    <${List}
      path="/api/signing-key"
      turn=${turn}
      filters=${[{ id: 'name', title: 'Name' }]}
      columns=${columnsOf(setDeleting)}
      empty=${html`<${Empty} title="No signing keys yet">
        <p>Your server signs a token for each viewer of a video whose policy is <em>signed</em>. Create a key, and keep its private half there.</p>
        ${create}
      <//>`}
    />
    <${PublicHalves} />
    <${AsCurl} path="/api/signing-key" />
    ${isNew && html`<${KeyForm} onClose=${() => setNew(false)} onDone=${created} />`}
    ${made && html`<${Made} made=${made} onClose=${() => setMade(undefined)} />`}
    ${deleting && html`<${Deletion} of=${deleting} onClose=${() => setDeleting(undefined)} onDone=${deleted} />`}`;
}

/** Where others find the public halves. */
function PublicHalves() {
  const account = access.value?.userId;
  if (!account) return null;
  const url = `${location.origin}/.well-known/jwks.json?account=${account}`;
  return html`<dl class="facts narrow foot-facts">
    <dt>Public halves (JWKS)</dt>
    <dd><${Copied} text=${url} label="the URL of the public halves" /></dd>
  </dl>`;
}

function columnsOf(setDeleting) {
  return [
    { title: 'Name', order: 'name', cell: ({ name }) => name },
    { title: 'Id (kid)', cell: ({ id }) => html`<${Id} id=${id} />` },
    {
      title: 'Public half',
      cell: ({ algorithm, publicKey, jwksUrl }) =>
        jwksUrl
          ? html`<span class="some" title=${jwksUrl}>${jwksUrl}</span>`
          : html`<span class="row tight">${algorithm} <${CopyButton} text=${publicKey} label="the public half" /></span>`,
    },
    { title: 'Created', order: 'createdAt', cell: ({ createdAt }) => html`<${Time} at=${createdAt} />` },
    {
      title: '',
      isEnd: true,
      cell: (key) =>
        allows('DELETE', `signing-key/${key.id}`) &&
        html`<button class="copy" type="button" aria-label=${`Delete ${key.name}`} onClick=${() => setDeleting(key)}>Delete</button>`,
    },
  ];
}

function KeyForm({ onClose, onDone }) {
  const [name, setName] = useState('');
  const [kind, setKind] = useState('ES256');
  const [jwksUrl, setUrl] = useState('');
  const { run, isBusy, problem } = useWrite();
  const body = { name, ...(kind === 'own' ? { jwksUrl } : { algorithm: kind }) };
  const save = async (event) => {
    event.preventDefault();
    const key = await run(() => call('POST', '/api/signing-key', { body }));
    if (key) onDone(key);
  };
  return html`<${Dialog} title="Create a signing key" onClose=${onClose}>
    <form class="stack" onSubmit=${save}>
      <${Field} label="Name" hint="Of what signs with it"><input name="name" required value=${name} onInput=${({ target }) => setName(target.value)} /><//>
      <${Field} label="Kind">
        <select value=${kind} onChange=${({ target }) => setKind(target.value)}>
          <option value="ES256">A new pair, ES256</option>
          <option value="RS256">A new pair, RS256</option>
          <option value="own">Keys of your own, by URL</option>
        </select>
      <//>
      ${
        kind === 'own' &&
        html`<${Field} label="JWKS URL" hint="The server reads your public keys from here">
          <input type="url" required placeholder="https://id.example.com/.well-known/jwks.json" value=${jwksUrl} onInput=${({ target }) => setUrl(target.value)} />
        <//>`
      }
      <${Problem} text=${problem} />
      <div class="row">
        <button class="button primary" disabled=${isBusy}>Create</button>
        <button class="button" type="button" onClick=${onClose}>Cancel</button>
      </div>
      <${AsCurl} method="POST" path="/api/signing-key" body=${body} />
    </form>
  <//>`;
}

/** The only time that the private half is shown. */
function Made({ made: { id, name, algorithm, privateKey }, onClose }) {
  const example = signingExample({ keyId: id, algorithm });
  const download = () => {
    const href = URL.createObjectURL(new Blob([privateKey], { type: 'application/x-pem-file' }));
    Object.assign(document.createElement('a'), { href, download: `${id}.pem` }).click();
    setTimeout(() => URL.revokeObjectURL(href), 10_000);
  };
  return html`<${Dialog} title=${`The signing key ${name}`} className="wide" onClose=${onClose}>
    <p>Keep the private half now: it is not stored, and not shown again.</p>
    <pre class="code wrap" tabindex="0" aria-label="Private half">${privateKey}</pre>
    <div class="row">
      <${CopyButton} text=${privateKey} label="the private half" className="button primary">Copy<//>
      <button class="button" type="button" onClick=${download}>Download ${id.slice(0, 8)}….pem</button>
    </div>
    <h3>Sign a token with it (Node)</h3>
    <div class="json">
      <${CopyButton} text=${example} label="the example" />
      <pre class="code" tabindex="0" aria-label="Example">${example}</pre>
    </div>
    <div><button class="button" type="button" onClick=${onClose}>Done</button></div>
  <//>`;
}

function Deletion({ of: { id, name }, onClose, onDone }) {
  const { run, problem } = useWrite();
  const remove = async () => {
    if (await run(() => call('DELETE', `/api/signing-key/${id}`))) onDone();
  };
  return html`<${Confirm} title=${`Delete the signing key ${name}?`} action="Delete the signing key" problem=${problem} onDo=${remove} onClose=${onClose}>
    <p>Its tokens are refused within 5 seconds, and viewers whom they let in lose the picture. This cannot be undone.</p>
  <//>`;
}
