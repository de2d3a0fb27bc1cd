import { useEffect, useState } from 'preact/hooks';
import { call } from '../lib/api.js';
import { html } from '../lib/html.js';
import { useWrite } from '../lib/load.js';
import { useOpenapi, webhookEvents } from '../lib/openapi.js';
import { Copied, Dialog, Field, Problem } from '../lib/parts.js';
import { newSecret } from '../lib/signatures.js';

/** Creates a webhook, or changes one. `onDone(webhook)` after the server took it. */
export function WebhookForm({ webhook, onClose, onDone }) {
  const [name, setName] = useState(webhook?.name ?? '');
  const [url, setUrl] = useState(webhook?.url ?? '');
  const [events, setEvents] = useState(new Set(webhook?.events));
  const [streamId, setStreamId] = useState(webhook?.streamId ?? '');
  const [secret, setSecret] = useState(webhook ? undefined : newSecret());
  const { run, isBusy, problem } = useWrite();
  const save = async (event) => {
    event.preventDefault();
    const body = {
      ...{ name, url, events: [...events], streamId: streamId || null },
      ...(secret && { sharedSecret: secret }),
    };
    const path = webhook ? `/api/webhook/${webhook.id}` : '/api/webhook';
    const saved = await run(() => call(webhook ? 'PUT' : 'POST', path, { body }));
    if (saved) onDone(saved);
  };
  return html`<${Dialog} title=${webhook ? 'Change the webhook' : 'Create a webhook'} onClose=${onClose}>
    <form class="stack" onSubmit=${save}>
      <${Field} label="Name"><input name="name" required value=${name} onInput=${({ target }) => setName(target.value)} /><//>
      <${Field} label="URL" hint="Called with POST">
        <input name="url" type="url" required placeholder="https://example.com/hooks" value=${url} onInput=${({ target }) => setUrl(target.value)} />
      <//>
      <${EventChoice} chosen=${events} onChange=${setEvents} />
      <${StreamChoice} value=${streamId} onChange=${setStreamId} />
      ${
        secret
          ? html`<div class="field"><span class="label">Secret</span><${Copied} text=${secret} label="the secret" /><span class="hint">Signs each call. Copy it now: it is not shown again.</span></div>`
          : html`<div><button class="button" type="button" onClick=${() => setSecret(newSecret())}>Change the secret too</button></div>`
      }
      <${Problem} text=${problem} />
      <div class="row">
        <button class="button primary" disabled=${isBusy || events.size === 0}>${webhook ? 'Save' : 'Create'}</button>
        <button class="button" type="button" onClick=${onClose}>Cancel</button>
      </div>
    </form>
  <//>`;
}

function EventChoice({ chosen, onChange }) {
  const document = useOpenapi();
  // A plugin whose event is named may be off for now.
  const names = [...new Set([...webhookEvents(document), ...chosen])];
  const set = (name, isOn) => {
    const next = new Set(chosen);
    if (isOn) next.add(name);
    else next.delete(name);
    onChange(next);
  };
  const isAll = chosen.size === names.length;
  return html`<fieldset class="field">
    <legend class="label">Events</legend>
    <div class="checks">
      ${names.map(
        (name) =>
          html`<label><input type="checkbox" checked=${chosen.has(name)} onChange=${({ target }) => set(name, target.checked)} /> ${name}</label>`,
      )}
    </div>
    <div><button class="copy" type="button" onClick=${() => onChange(new Set(isAll ? [] : names))}>${isAll ? 'None' : 'All'}</button></div>
  </fieldset>`;
}

function StreamChoice({ value, onChange }) {
  const [streams, setStreams] = useState([]);
  useEffect(() => {
    const query = { streamsonly: 1, limit: 200, order: 'name-false' };
    call('GET', '/api/stream', { query }).then(setStreams, () => undefined);
  }, []);
  const isKnown = value === '' || streams.some(({ id }) => id === value);
  return html`<${Field} label="Stream">
    <select name="stream" value=${value} onChange=${({ target }) => onChange(target.value)}>
      <option value="">All, and what belongs to none</option>
      ${!isKnown && html`<option value=${value}>${value}</option>`}
      ${streams.map(({ id, name }) => html`<option value=${id}>${name}</option>`)}
    </select>
  <//>`;
}
