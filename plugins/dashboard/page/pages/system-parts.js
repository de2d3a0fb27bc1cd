import { count } from '../lib/format.js';
import { html } from '../lib/html.js';
import { Dot } from '../lib/parts.js';

/** What each node does. */
export function Nodes({ system: { nodes = [] } }) {
  if (nodes.length === 0) return null;
  return html`<section class="stack" aria-label="Nodes">
    <h2>Nodes</h2>
    <div class="scroll">
      <table class="list">
        <thead><tr><th>Node</th><th>Roles</th><th>Region</th></tr></thead>
        <tbody>
          ${nodes.map(
            ({ id, name, roles = [], region }) => html`<tr key=${id}>
              <td class="mono">${name ?? id}</td><td>${roles.join(', ') || '–'}</td><td>${region ?? '–'}</td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

const states = { on: 'good', running: 'good', failed: 'bad', off: 'quiet' };

export function Plugins({ plugins = [] }) {
  return html`<div class="scroll">
    <table class="list">
      <thead><tr><th>Plugin</th><th>State</th><th>What it does</th><th class="end">Started in</th></tr></thead>
      <tbody>
        ${plugins.map(
          ({ id, state = 'on', summary, startTime, error }) => html`<tr key=${id}>
            <td>${id}</td>
            <td><span title=${error}><${Dot} kind=${states[state] ?? 'warn'}>${state}<//></span></td>
            <td title=${error ?? summary}>${error ?? summary}</td>
            <td class="end">${startTime === undefined ? '–' : `${count(Math.round(startTime))} ms`}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

export function Config({ config = [] }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Config in force">
    <table class="list">
      <thead><tr><th>Key</th><th>Value</th><th>From</th></tr></thead>
      <tbody>
        ${config.map(
          ({ key, value, source, isSecret }) => html`<tr key=${key}>
            <td><code>${key}</code></td>
            <td><code>${isSecret ? '••••••' : JSON.stringify(value)}</code></td>
            <td class=${source === 'default' ? 'muted' : ''}>${source}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
