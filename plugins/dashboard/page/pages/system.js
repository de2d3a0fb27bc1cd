import { useRef } from 'preact/hooks';
import { call } from '../lib/api.js';
import { bytes, count, duration, rate } from '../lib/format.js';
import { html } from '../lib/html.js';
import { useLoad } from '../lib/load.js';
import { metricsOf, quantileOf, sumOf } from '../lib/metrics.js';
import { openapi } from '../lib/openapi.js';
import { AsCurl, Bones, Dot, Head, Problem, Tabs, Time } from '../lib/parts.js';
import { place, withQuery } from '../lib/place.js';
import { Config, Nodes, Plugins } from './system-parts.js';
import { Reactions } from './system-reactions.js';

export function Page() {
  const { data, error } = useLoad(load, { every: 5000 });
  const tab = place.value.query.get('tab') ?? 'now';
  if (!data) return html`<${Head} title="System" /><${error ? Problem : Bones} text=${error} />`;
  const { system, issues } = data;
  const state =
    issues.length === 0
      ? html`<${Dot} kind="good">Everything is fine<//>`
      : html`<${Dot} kind="warn">${issues.length} ${issues.length === 1 ? 'issue' : 'issues'}<//>`;
  const shown = tabs.filter(([id]) => system || id === 'now' || id === 'reactions');
  return html`<${Head} title="System" state=${state}>
      ${system && html`<span class="muted">Millrace ${system.version}, started <${Time} at=${system.startedAt} /></span>`}
    <//>
    <${Problem} text=${error} />
    ${issues.map((issue) => html`<p class="notice">${issue}</p>`)}
    <${Tabs} tabs=${shown} current=${tab} hrefOf=${(id) => withQuery({ tab: id === 'now' ? undefined : id })} />
    ${tab === 'now' && html`<${Metrics}>${system && html`<${Nodes} system=${system} />`}<//>`}
    ${tab === 'plugins' && system && html`<${Plugins} plugins=${system.plugins} />`}
    ${tab === 'config' && system && html`<${Config} config=${system.config} />`}
    ${tab === 'reactions' && html`<${Reactions} />`}
    ${system && html`<div class="foot"><${AsCurl} path="/api/system" /></div>`}`;
}

const tabs = [
  ['now', 'Now'],
  ['plugins', 'Plugins'],
  ['config', 'Config'],
  ['reactions', 'Reactions'],
];

/** `GET /api/system` is of the plugin `system`, which may be off; the health is always there. */
async function load() {
  const document = await openapi();
  if (document.paths['/api/system']) {
    const system = await call('GET', '/api/system');
    return { system, issues: system.issues };
  }
  const health = await (await fetch('/health/ready')).json();
  return { issues: health.issues ?? [] };
}

/** Event streams and playlists of live broadcasts wait on purpose. */
const isPrompt = ({ labels }) => !/^\/(api\/events|hls)/.test(labels.route ?? '');

/** Ten figures of this node. `of(samples, before)`: `before` is what was read 5 s ago, for rates. */
const figures = [
  { title: 'Broadcasts', of: (now) => count(sumOf(now.samples, 'millrace_media_publishes')) },
  { title: 'Viewers', of: (now) => count(sumOf(now.samples, 'millrace_media_viewers')) },
  {
    title: 'Media received',
    of: (now, before) => rate(8 * perSecond('millrace_media_received_bytes_total', now, before)),
  },
  {
    title: 'HTTP requests',
    of: (now, before) => each(perSecond('millrace_http_requests_total', now, before)),
  },
  {
    title: 'Answers within, 99 %',
    of: (now) =>
      milliseconds(quantileOf(now.samples.filter(isPrompt), 'millrace_http_request_duration_seconds', 0.99)),
  },
  {
    title: 'Event loop late by, 99 %',
    of: (now) => milliseconds(quantileOf(now.samples, 'millrace_event_loop_delay_seconds', 0.99)),
  },
  {
    title: 'Commits within, 99 %',
    of: (now) => milliseconds(quantileOf(now.samples, 'millrace_actor_commit_duration_seconds', 0.99)),
  },
  { title: 'Jobs waiting', of: (now) => count(sumOf(now.samples, 'millrace_jobs_waiting')) },
  {
    title: 'Webhook retries waiting',
    of: (now) => count(sumOf(now.samples, 'millrace_webhook_retries_waiting')),
  },
  {
    title: 'Disk free, data',
    of: (now) => bytes(sumOf(now.samples, 'millrace_disk_free_bytes', { place: 'data' })),
  },
];

/** What is below them comes with them: nothing moves. */
function Metrics({ children }) {
  const before = useRef();
  const now = useRef();
  const { data, error } = useLoad(
    async () => {
      const samples = metricsOf(await (await fetch('/metrics')).text());
      before.current = now.current;
      now.current = { samples, at: Date.now() };
      return { now: now.current, before: before.current };
    },
    { every: 5000 },
  );
  if (!data && error) return html`<div class="stack"><${Problem} text=${error} />${children}</div>`;
  if (!data) return html`<${Bones} />`;
  const uptime = sumOf(data.now.samples, 'millrace_uptime_seconds');
  return html`<div class="stack"><section class="stack" aria-label="Figures of this node">
    <h2>This node <span class="muted">up for ${duration(uptime)}</span></h2>
    <div class="metrics">
      ${figures.map(({ title, of }) => html`<div class="card"><span class="muted">${title}</span><strong>${of(data.now, data.before)}</strong></div>`)}
    </div>
    <p class="muted">All of them: <a href="/metrics" target="_blank">/metrics</a></p>
  </section>${children}</div>`;
}

/** Of a counter; NaN until it was read twice. */
function perSecond(name, now, before) {
  const [newer, older] = [now, before].map((read) => read && sumOf(read.samples, name));
  return Math.max(0, (newer - older) / ((now.at - before?.at) / 1000));
}

const each = (value) => (Number.isFinite(value) ? `${count(Math.round(value * 10) / 10)} /s` : '–');
const milliseconds = (seconds) => {
  if (seconds === undefined) return '–';
  return Number.isFinite(seconds) ? `${count(Math.round(seconds * 1000))} ms` : 'more than 10 s';
};
