import { useState } from 'preact/hooks';
import { call } from '../lib/api.js';
import { html } from '../lib/html.js';
import { useWrite } from '../lib/load.js';
import { AsCurl, CopyButton, Dialog, Field, Problem } from '../lib/parts.js';
import { forgetTokens } from '../lib/playback-token.js';
import { draftOf, policyOf, policyTypes, problemsByField } from '../lib/policy.js';
import { newSecret } from '../lib/signatures.js';

/** Changes who may watch. `path`: of the stream, asset or account. `onDone()` after the server took it. */
export function PolicyForm({ path, policy, onClose, onDone }) {
  const [draft, setDraft] = useState(() => draftOf(policy));
  const { run, isBusy, problems } = useWrite();
  const set = (changes) => setDraft({ ...draft, ...changes });
  const body = { playbackPolicy: policyOf(draft) };
  const wrong = problemsByField(problems);
  const save = async (event) => {
    event.preventDefault();
    const isDone = await run(() => call('PATCH', path, { body }));
    if (!isDone) return;
    forgetTokens();
    onDone();
  };
  return html`<${Dialog} title="Who may watch" className="wide" onClose=${onClose}>
    <form class="stack" onSubmit=${save} novalidate>
      <${Types} type=${draft.type} onChange=${(type) => set({ type })} />
      <${Problem} text=${wrong.type} />
      ${draft.type === 'webhook' && html`<${Webhook} draft=${draft} set=${set} wrong=${wrong} />`}
      ${draft.type !== '' && html`<${Restrictions} draft=${draft} set=${set} wrong=${wrong} />`}
      <${Problem} text=${wrong['']} />
      <div class="row">
        <button class="button primary" disabled=${isBusy}>Save</button>
        <button class="button" type="button" onClick=${onClose}>Cancel</button>
      </div>
      <${AsCurl} method="PATCH" path=${path} body=${shownBody(body)} />
    </form>
  <//>`;
}

/** A secret is in no command that somebody copies. */
function shownBody({ playbackPolicy: policy }) {
  return { playbackPolicy: policy?.webhookSecret ? { ...policy, webhookSecret: '…' } : policy };
}

function Types({ type, onChange }) {
  const [, , meaning] = policyTypes.find(([value]) => value === type) ?? [];
  return html`<fieldset class="field plain">
    <legend class="label">Policy</legend>
    <div class="choices">
      ${policyTypes.map(
        ([value, title]) => html`<label class="choice">
          <input type="radio" name="policy" checked=${value === type} onChange=${() => onChange(value)} /> ${title}
        </label>`,
      )}
    </div>
    <span class="hint" role="status">${meaning}.</span>
  </fieldset>`;
}

function Webhook({ draft: { webhookUrl, webhookSecret, onError }, set, wrong }) {
  return html`<div class="form-grid">
    <${Field} label="Webhook URL" problem=${wrong.webhookUrl} hint="Asked with POST: 2xx lets a viewer in, 4xx refuses">
      <input type="url" value=${webhookUrl} placeholder="https://example.com/may-play" onInput=${({ target }) => set({ webhookUrl: target.value })} />
    <//>
    <${Field} label="While it does not answer" problem=${wrong.onError}>
      <select value=${onError} onChange=${({ target }) => set({ onError: target.value })}>
        <option value="refuse">Refuse viewers</option>
        <option value="allow">Let viewers in</option>
      </select>
    <//>
    <div class="field">
      <${Field} label="Secret" problem=${wrong.webhookSecret} hint="Signs the requests, and is never shown again. Empty: that of this URL stays">
        <input class="mono" autocomplete="off" spellcheck="false" value=${webhookSecret} onInput=${({ target }) => set({ webhookSecret: target.value })} />
      <//>
      <div class="row">
        <button class="copy" type="button" onClick=${() => set({ webhookSecret: newSecret() })}>Make one</button>
        ${webhookSecret !== '' && html`<${CopyButton} text=${webhookSecret} label="the secret" />`}
      </div>
    </div>
  </div>`;
}

function Restrictions({ draft, set, wrong }) {
  const area = (
    name,
    { field = name, label, hint, placeholder },
  ) => html`<${Field} label=${label} hint=${hint} problem=${wrong[field]}>
    <textarea rows="3" class="mono" spellcheck="false" placeholder=${placeholder} value=${draft[name]} onInput=${({ target }) => set({ [name]: target.value })}></textarea>
  <//>`;
  return html`<div class="form-grid thirds">
      ${area('origins', { field: 'allowedOrigins', label: 'Pages', hint: 'Origins, one a line. Empty: all', placeholder: 'https://www.example.com' })}
      ${area('countries', { label: 'Countries', hint: 'Two letters, one a line. Empty: all', placeholder: 'DE' })}
      ${area('cidrs', { label: 'Addresses', hint: 'Blocks, one a line. Empty: all', placeholder: '192.0.2.0/24' })}
    </div>
    ${
      draft.origins.trim() !== '' &&
      html`<label class="row check">
        <input type="checkbox" checked=${draft.allowNoOrigin} onChange=${({ target }) => set({ allowNoOrigin: target.checked })} />
        Also players that name no page, such as apps
      </label>`
    }`;
}
