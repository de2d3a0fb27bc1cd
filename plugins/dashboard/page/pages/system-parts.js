import { forecastOf, withReading } from '../lib/forecast.js';
import { bytes, count } from '../lib/format.js';
import { html } from '../lib/html.js';
import { Dot, Time } from '../lib/parts.js';
import { go, place, withQuery } from '../lib/place.js';
import { store, stored } from '../lib/stored.js';

/** What each node does, and the disk of the one that answered. */
export function Nodes({ system: { node, nodes, disk } }) {
  return html`<section class="stack" aria-label="Nodes">
    <h2>Nodes</h2>
    ${disk && html`<${Disk} ...${disk} node=${node.id} />`}
    <div class="scroll" tabindex="0" role="region" aria-label="List of nodes">
      <table class="list">
        <thead><tr><th>Node</th><th>State</th><th>Roles</th><th>Region</th><th>URL</th><th>Last seen</th></tr></thead>
        <tbody>
          ${nodes.map(
            ({ id, roles, region, url, isAlive, seenAt }) => html`<tr key=${id}>
              <td class="mono" title=${id}>${id}${id === node.id && ' (this one)'}</td>
              <td><${Dot} kind=${isAlive ? 'good' : 'bad'}>${isAlive ? 'Alive' : 'Silent'}<//></td>
              <td>${roles.join(', ')}</td>
              <td>${region ?? '–'}</td>
              <td>${url ?? '–'}</td>
              <td><${Time} at=${seenAt} /></td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

/** Free space, and when it will be gone: by what this browser has seen, as the server keeps no history of it. */
function Disk({ node, dataDir, freeBytes: free, totalBytes: total }) {
  const name = `millrace.disk.${node}.${dataDir}`;
  const readings = withReading(stored(name, []), { at: Date.now(), free });
  store(name, readings);
  const forecast = forecastOf(readings, { free, total });
  const isSoon = forecast.kind === 'fills' && forecast.left < 3 * day;
  return html`<p>
    <span class="muted">Data of this node: ${bytes(free)} of ${bytes(total)} free in <code>${dataDir}</code>.</span>${' '}
    ${isSoon ? html`<${Dot} kind="warn">${forecastText(forecast)}<//>` : html`<span class="muted">${forecastText(forecast)}</span>`}
  </p>`;
}

const day = 86_400_000;

function forecastText({ kind, span, perDay, left }) {
  if (kind === 'unknown')
    return `A forecast needs readings of an hour; this browser has those of ${span < 60_000 ? 'less than a minute' : spanText(span)}.`;
  const seen = `in the ${spanText(span)} that this browser has seen`;
  if (kind === 'steady') return `It did not fill up ${seen}.`;
  if (left > 365 * day) return `Full in more than a year at the rate of ${bytes(perDay)} a day ${seen}.`;
  return `Full in about ${spanText(left)} at the rate of ${bytes(perDay)} a day ${seen}.`;
}

/** ms as `9 days`, `5 hours` or `12 minutes`. */
function spanText(ms) {
  const [value, unit] =
    ms >= 2 * day ? [ms / day, 'day'] : ms >= 7_200_000 ? [ms / 3_600_000, 'hour'] : [ms / 60_000, 'minute'];
  const whole = Math.max(1, Math.round(value));
  return `${whole} ${unit}${whole === 1 ? '' : 's'}`;
}

const states = { on: ['good', 'On'], failed: ['bad', 'Failed'], off: ['quiet', 'Off'] };

export function Plugins({ plugins }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Plugins">
    <table class="list">
      <thead><tr><th>Plugin</th><th>State</th><th>What it does</th><th class="end">Started in</th></tr></thead>
      <tbody>
        ${plugins.map(({ id, state, summary, startMs, error }) => {
          const [kind, word] = states[state];
          return html`<tr key=${id}>
            <td title=${id}>${id}</td>
            <td><${Dot} kind=${kind}>${word}<//></td>
            <td title=${error ?? summary}>${error ?? summary ?? '–'}</td>
            <td class="end">${startMs === undefined ? '–' : `${count(Math.round(startMs))} ms`}</td>
          </tr>`;
        })}
      </tbody>
    </table>
  </div>`;
}

/** The config in force: where each value came from. Secrets are hidden by the server. */
export function Config({ config }) {
  const { query } = place.value;
  const wanted = query.get('key') ?? '';
  const isSetOnly = query.get('set') === '1';
  const rows = config.filter(
    ({ key, source }) => key.includes(wanted) && (!isSetOnly || source !== 'default'),
  );
  const set = (changes) => go(withQuery(changes), { replace: true });
  return html`<div class="filters" role="search">
      <input type="search" aria-label="Key" placeholder="Key" data-filter value=${wanted} onInput=${({ target }) => set({ key: target.value })} />
      <label class="row"><input type="checkbox" checked=${isSetOnly} onChange=${({ target }) => set({ set: target.checked ? '1' : '' })} /> Only what was set</label>
    </div>
    <div class="scroll" tabindex="0" role="region" aria-label="Config in force">
      <table class="list">
        <thead><tr><th>Key</th><th>Value</th><th>From</th></tr></thead>
        <tbody>
          ${rows.map(
            ({ key, value, source }) => html`<tr key=${key}>
              <td title=${key}><code>${key}</code></td>
              <td><code title=${textOf(value)}>${textOf(value)}</code></td>
              <td class=${source === 'default' ? 'muted' : ''}>${source}</td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>`;
}

const textOf = (value) => {
  if (value === undefined) return 'not set';
  return typeof value === 'string' ? value : JSON.stringify(value);
};
