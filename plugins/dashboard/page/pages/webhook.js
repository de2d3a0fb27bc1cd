import { useState } from 'preact/hooks';
import { allows, call } from '../lib/api.js';
import { deleteLater } from '../lib/deletion.js';
import { fullMoment } from '../lib/format.js';
import { html } from '../lib/html.js';
import { useLoad, useWrite } from '../lib/load.js';
import { useOpenapi, webhookEvents } from '../lib/openapi.js';
import {
  AsCurl,
  Bones,
  Confirm,
  Copied,
  CopyButton,
  Dialog,
  Head,
  Id,
  Problem,
  Tabs,
  Time,
} from '../lib/parts.js';
import { go, place, withQuery } from '../lib/place.js';
import { newSecret, signatures } from '../lib/signatures.js';
import { WebhookForm } from './webhook-form.js';
import { Log } from './webhook-log.js';
import { State } from './webhooks.js';

export function Page({ id }) {
  const {
    data: webhook,
    error,
    reload,
  } = useLoad(() => call('GET', `/api/webhook/${id}`), {
    deps: [id],
    every: 5000,
  });
  const [open, setOpen] = useState();
  const [turn, setTurn] = useState(0);
  if (!webhook) return html`<${Head} title="Webhook" /><${error ? Problem : Bones} text=${error} />`;
  const close = () => {
    setOpen(undefined);
    void reload();
  };
  const tab = place.value.query.get('tab') ?? 'log';
  const mayChange = allows('PUT', `webhook/${id}`);
  const remove = () => {
    deleteLater([{ id, path: `/api/webhook/${id}`, title: webhook.name }]);
    go('/dashboard/webhooks');
  };
  const sent = ({ id: entry }) => {
    setTurn((before) => before + 1);
    void reload();
    go(withQuery({ tab: undefined, entry }), { replace: true });
  };
  return html`<${Head} title=${webhook.name} state=${html`<${State} webhook=${webhook} />`}>
      ${allows('POST', `webhook/${id}/test`) && html`<${Test} webhook=${webhook} onSent=${sent} />`}
      ${mayChange && html`<button class="button" type="button" onClick=${() => setOpen('form')}>Change</button>`}
      ${mayChange && html`<button class="button" type="button" onClick=${() => setOpen('secret')}>New secret</button>`}
      ${allows('DELETE', `webhook/${id}`) && html`<button class="button bad" type="button" onClick=${remove}>Delete</button>`}
    <//>
    <${Problem} text=${error} />
    <${Tabs} tabs=${tabs} current=${tab} hrefOf=${(one) => withQuery({ tab: one === 'log' ? undefined : one, entry: undefined, cursor: undefined })} />
    ${tab === 'log' && html`<${Log} id=${id} turn=${turn} onSent=${sent} />`}
    ${tab === 'facts' && html`<${Facts} webhook=${webhook} />`}
    ${tab === 'signature' && html`<${Signature} />`}
    ${open === 'form' && html`<${WebhookForm} webhook=${webhook} onClose=${close} onDone=${close} />`}
    ${open === 'secret' && html`<${NewSecret} webhook=${webhook} onClose=${close} />`}`;
}

const tabs = [
  ['log', 'Deliveries'],
  ['facts', 'Facts'],
  ['signature', 'Check the signature'],
];

function Facts({ webhook: { id, url, events, streamId, format, createdAt, status } }) {
  const failure = status.lastFailure;
  return html`<div class="narrow stack"><section class="card">
      <dl class="facts">
        <dt>Id</dt>
        <dd><${Id} id=${id} /></dd>
        <dt>URL</dt>
        <dd><${Copied} text=${url} label="the URL" /></dd>
        <dt>Events</dt>
        <dd>${events.join(', ')}</dd>
        <dt>Stream</dt>
        <dd>${streamId ? html`<a href=${`/dashboard/stream/${streamId}`}>${streamId}</a>` : 'All'}</dd>
        ${format && html`<dt>Format</dt><dd>${format}</dd>`}
        <dt>Created</dt>
        <dd><${Time} at=${createdAt} /></dd>
        ${failure && html`<dt>Last failure</dt><dd>${fullMoment(failure.timestamp)}, ${failure.event}: ${failure.error ?? `the answer was ${failure.statusCode}`}</dd>`}
      </dl>
    </section>
    <${AsCurl} path=${`/api/webhook/${id}`} /></div>`;
}

/** Sends an example of an event now. */
function Test({ webhook, onSent }) {
  const document = useOpenapi();
  const names = webhookEvents(document);
  const [event, setEvent] = useState(webhook.events[0]);
  const { run, isBusy, problem } = useWrite();
  const send = async () => {
    const entry = await run(() => call('POST', `/api/webhook/${webhook.id}/test`, { body: { event } }));
    if (entry) onSent(entry);
  };
  return html`<${Problem} text=${problem} />
    <select aria-label="Event of the test" value=${event} onChange=${({ target }) => setEvent(target.value)}>
      ${[...new Set([...webhook.events, ...names])].map((name) => html`<option>${name}</option>`)}
    </select>
    <button class="button primary" type="button" disabled=${isBusy} onClick=${send}>Send a test event</button>`;
}

function NewSecret({ webhook, onClose }) {
  const [secret, setSecret] = useState();
  const { run, isBusy, problem } = useWrite();
  const { id, name, url, events, streamId = null } = webhook;
  const change = async () => {
    const sharedSecret = newSecret();
    const body = { name, url, events, streamId, sharedSecret };
    if (await run(() => call('PUT', `/api/webhook/${id}`, { body }))) setSecret(sharedSecret);
  };
  if (secret)
    return html`<${Dialog} title="The new secret" onClose=${onClose}>
      <p>Copy it now: it is not shown again. For 24 hours each call is signed with this secret and the former one.</p>
      <${Copied} text=${secret} label="the secret" />
      <div><button class="button primary" type="button" onClick=${onClose}>Done</button></div>
    <//>`;
  return html`<${Confirm} title="Make a new secret?" action="Make a new secret" problem=${problem} onDo=${() => isBusy || change()} onClose=${onClose}>
    <p>Each call is signed with both for 24 hours. Give the new one to your receiver in that time.</p>
  <//>`;
}

function Signature() {
  const id = place.value.query.get('language') ?? 'node';
  const { code, title } = signatures.find((one) => one.id === id) ?? signatures[0];
  return html`<div class="narrow stack">
    <p class="muted">Each call has the headers webhook-id, webhook-timestamp and webhook-signature (Standard Webhooks). Refuse what does not fit, and what is older than 5 minutes.</p>
    <div class="row" role="group" aria-label="Language">
      ${signatures.map((one) => html`<a class="button" aria-current=${one.title === title ? 'true' : undefined} href=${withQuery({ language: one.id })}>${one.title}</a>`)}
    </div>
    <div class="json"><${CopyButton} text=${code} label="the code" /><pre class="code" tabindex="0">${code}</pre></div>
  </div>`;
}
