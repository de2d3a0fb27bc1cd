import { useState } from 'preact/hooks';
import { allows } from '../lib/api.js';
import { html } from '../lib/html.js';
import { List } from '../lib/list.js';
import { AsCurl, Dot, Empty, Head, Time } from '../lib/parts.js';
import { go } from '../lib/place.js';
import { WebhookForm } from './webhook-form.js';

export function Page() {
  const [isNew, setNew] = useState(false);
  const create =
    allows('POST', 'webhook') &&
    html`<button class="button primary" type="button" onClick=${() => setNew(true)}>Create a webhook</button>`;
  return html`<${Head} title="Webhooks">${create}<//>
    <${List}
      path="/api/webhook"
      every=${10_000}
      hrefOf=${({ id }) => `/dashboard/webhook/${id}`}
      filters=${[{ id: 'name', title: 'Name' }, { id: 'url', title: 'URL' }]}
      columns=${columns}
      empty=${html`<${Empty} title="No webhooks yet">
        <p>A webhook calls a URL of yours when something happens: a stream goes on the air, a recording is ready, an asset failed.</p>
        ${create}
      <//>`}
    />
    <${AsCurl} path="/api/webhook" />
    ${isNew && html`<${WebhookForm} onClose=${() => setNew(false)} onDone=${({ id }) => go(`/dashboard/webhook/${id}`)} />`}`;
}

const columns = [
  { title: 'Name', order: 'name', cell: ({ name }) => name },
  { title: 'URL', cell: ({ url }) => html`<code>${url}</code>` },
  { title: 'State', cell: (webhook) => html`<${State} webhook=${webhook} />` },
  {
    title: 'Events',
    cell: ({ events }) => html`<span title=${events.join(', ')}>${eventsText(events)}</span>`,
  },
  { title: 'Last call', cell: ({ status }) => html`<${Time} at=${status.lastTriggeredAt} />` },
  { title: 'Created', order: 'createdAt', cell: ({ createdAt }) => html`<${Time} at=${createdAt} />` },
];

const eventsText = (events) =>
  events.length === 1 ? events[0] : `${events[0]} and ${events.length - 1} more`;

/** From its newest call. */
export function State({ webhook: { status } }) {
  const { lastTriggeredAt, lastFailure } = status;
  if (!lastTriggeredAt) return html`<${Dot} kind="quiet">Not called yet<//>`;
  if (lastFailure?.timestamp !== lastTriggeredAt) return html`<${Dot} kind="good">Delivered<//>`;
  const { statusCode, error } = lastFailure;
  return html`<span title=${error}><${Dot} kind="bad">${statusCode ? `Answered ${statusCode}` : 'No answer'}<//></span>`;
}
