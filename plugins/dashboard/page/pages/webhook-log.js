import { allows, call } from '../lib/api.js';
import { count } from '../lib/format.js';
import { html } from '../lib/html.js';
import { MaybeJson } from '../lib/json.js';
import { List } from '../lib/list.js';
import { useLoad, useWrite } from '../lib/load.js';
import { Bones, Dot, Empty, Id, Problem, Time } from '../lib/parts.js';
import { place, withQuery } from '../lib/place.js';

/** Calls in the strip. */
const inStrip = 50;

/** What was sent to a webhook; the open entry is beside the list. `onSent(entry)` after a resend. */
export function Log({ id, turn, onSent }) {
  const entry = place.value.query.get('entry') ?? undefined;
  return html`<${Strip} id=${id} turn=${turn} />
    <div class=${`beside ${entry ? 'open' : ''}`}>
      <${List}
        path=${`/api/webhook/${id}/log`}
        every=${3000}
        turn=${turn}
        chosen=${entry}
        hrefOf=${(row) => withQuery({ entry: row.id })}
        filters=${filters}
        columns=${columns}
        empty=${html`<${Empty} title="Nothing was sent yet"><p>Send a test event, or wait for an event that this webhook asks for.</p><//>`}
      />
      ${entry && html`<${Entry} key=${entry} path=${`/api/webhook/${id}/log/${entry}`} onSent=${onSent} />`}
    </div>`;
}

const filters = [
  { id: 'event', title: 'Event' },
  {
    id: 'success',
    title: 'Delivered',
    options: [
      ['true', 'yes'],
      ['false', 'no'],
    ],
  },
];

const columns = [
  { title: 'Event', cell: ({ event }) => event },
  { title: 'Answer', cell: (entry) => html`<${Answer} entry=${entry} />` },
  { title: 'Took', isEnd: true, cell: ({ duration }) => `${count(duration)} ms` },
  { title: 'Attempt', isEnd: true, cell: ({ attempt }) => attempt || 'by hand' },
  { title: 'Sent', order: 'createdAt', cell: ({ createdAt }) => html`<${Time} at=${createdAt} />` },
];

function Answer({ entry: { success, response, error } }) {
  if (response) return html`<${Dot} kind=${success ? 'good' : 'bad'}>${response.status}<//>`;
  return html`<span title=${error}><${Dot} kind="bad">No answer<//></span>`;
}

/** The newest calls, oldest first: how many were answered well. */
function Strip({ id, turn }) {
  const { data: rows = [] } = useLoad(
    () => call('GET', `/api/webhook/${id}/log`, { query: { limit: inStrip } }),
    { deps: [id, turn], every: 5000 },
  );
  if (rows.length === 0) return null;
  const good = rows.filter(({ success }) => success).length;
  const text = `Delivered: ${good} of the last ${rows.length} ${rows.length === 1 ? 'call' : 'calls'}`;
  return html`<div class="strip-box">
    <span class="muted">${text}</span>
    <div class="strip" role="img" aria-label=${text}>
      ${rows.toReversed().map(({ success, event }) => html`<span class=${success ? '' : 'bad'} title=${event}></span>`)}
    </div>
  </div>`;
}

function Entry({ path, onSent }) {
  const { data: entry, error } = useLoad(() => call('GET', path), { deps: [path] });
  const { run, isBusy, problem } = useWrite();
  const close = html`<a class="button" href=${withQuery({ entry: undefined })}>Close</a>`;
  if (!entry)
    return html`<aside class="card stack" aria-label="Delivery"><${error ? Problem : Bones} text=${error} /><div>${close}</div></aside>`;
  const resend = async () => {
    const sent = await run(() => call('POST', `${path}/resend`));
    if (sent) onSent(sent);
  };
  const { request, response } = entry;
  return html`<aside class="card stack" aria-label="Delivery">
    <div class="row">
      <h2>${entry.event}</h2>
      <${Answer} entry=${entry} />
    </div>
    <div class="row">
      ${allows('POST', `${path.slice('/api/'.length)}/resend`) && html`<button class="button primary" type="button" disabled=${isBusy} onClick=${resend}>Resend</button>`}
      ${close}
    </div>
    <${Problem} text=${problem ?? entry.error} />
    <dl class="facts">
      <dt>Event</dt>
      <dd><${Id} id=${entry.deliveryId} /></dd>
      <dt>Sent</dt>
      <dd><${Time} at=${entry.createdAt} />, took ${count(entry.duration)} ms</dd>
      ${entry.nextAttemptAt && html`<dt>Next attempt</dt><dd><${Time} at=${entry.nextAttemptAt} /></dd>`}
    </dl>
    <h3>Request</h3>
    <pre class="code wrap" tabindex="0" aria-label="Head of the request">${headOf(request)}</pre>
    ${request.body === undefined ? html`<p class="muted">The log no longer has its body.</p>` : html`<${MaybeJson} text=${request.body} label="the request" />`}
    ${request.isCut && html`<p class="muted">The log has only its beginning.</p>`}
    ${response && html`<h3>Response ${response.status}</h3><${MaybeJson} text=${response.body || '(empty)'} label="the response" />`}
  </aside>`;
}

function headOf({ url, headers }) {
  return [`POST ${url}`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)].join('\n');
}
