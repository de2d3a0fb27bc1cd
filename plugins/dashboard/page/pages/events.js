import { useState } from 'preact/hooks';
import { recent } from '../lib/events.js';
import { clockTime, fullMoment } from '../lib/format.js';
import { html } from '../lib/html.js';
import { Json } from '../lib/json.js';
import { useOpenapi, webhookEvents } from '../lib/openapi.js';
import { AsCurl, CopyButton, Dot, Empty, Head, Id } from '../lib/parts.js';
import { go, place, withQuery } from '../lib/place.js';

export function Page() {
  const { query } = place.value;
  const type = query.get('type') ?? '';
  const stream = query.get('stream') ?? '';
  const [held, setHeld] = useState();
  const all = held ?? recent.value;
  const rows = all.filter((event) => isWanted(event, { type, stream }));
  const open = all.find(({ id }) => id === query.get('event'));
  const missed = held ? recent.value.length - Math.max(0, recent.value.indexOf(held[0])) : 0;
  return html`<${Head} title="Events" state=${held ? html`<${Dot} kind="wait">Paused<//>` : html`<${Dot} kind="good">Following<//>`}>
      <button class="button" type="button" aria-pressed=${held !== undefined} onClick=${() => setHeld(held ? undefined : recent.value)}>${held ? 'Go on' : 'Pause'}</button>
      <${CopyButton} text=${rows.map((event) => JSON.stringify(event)).join('\n')} label="all that are shown" className="button" />
    <//>
    <${Filters} type=${type} stream=${stream} />
    ${held && missed > held.length && html`<p class="muted" role="status">More came meanwhile.</p>`}
    ${
      rows.length === 0
        ? html`<${Empty} title=${all.length === 0 ? 'Nothing has happened since you came' : 'No event fits'}>
            <p>${all.length === 0 ? 'Events of your streams, assets and tasks appear here as they come. Start a broadcast, or upload a film.' : 'Choose another type or stream.'}</p>
          <//>`
        : html`<div class=${`beside ${open ? 'open' : ''}`}>
            <${Rows} rows=${rows} chosen=${open?.id} />
            ${
              open &&
              html`<aside class="card stack" aria-label="Event">
              <h2>${open.event}</h2>
              <p class="muted">${fullMoment(open.timestamp)}</p>
              <${Json} value=${open} label="the event" />
              <div><a class="button" href=${withQuery({ event: undefined })}>Close</a></div>
            </aside>`
            }
          </div>`
    }
    <${AsCurl} path=${`/api/events${type && `?type=${type}`}`} />`;
}

/** A type, or all that begin with it: `stream.`. */
function isWanted(event, { type, stream }) {
  if (type && event.event !== type) return false;
  if (!stream) return true;
  const { id = '', name = '', parentId = '' } = event.stream ?? {};
  return [id, parentId].includes(stream) || name.toLowerCase().includes(stream.toLowerCase());
}

function Filters({ type, stream }) {
  const seen = recent.value.map(({ event }) => event);
  const names = [...new Set([...webhookEvents(useOpenapi()), ...seen])];
  const set = (changes) => go(withQuery(changes), { replace: true });
  return html`<div class="filters" role="search">
    <select aria-label="Type" value=${type} onChange=${({ target }) => set({ type: target.value })}>
      <option value="">Type: all</option>
      ${names.map((name) => html`<option value=${name}>${name}</option>`)}
    </select>
    <input type="search" aria-label="Stream" placeholder="Stream: name or id" data-filter value=${stream} onInput=${({ target }) => set({ stream: target.value })} />
  </div>`;
}

function Rows({ rows, chosen }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Events">
    <table class="list">
      <thead><tr><th>Time</th><th>Event</th><th>Of</th><th>Id</th></tr></thead>
      <tbody>
        ${rows.map(
          (event) => html`<tr key=${event.id} class=${event.id === chosen ? 'chosen' : ''}>
            <td class="mono" title=${fullMoment(event.timestamp)}>${clockTime(event.timestamp)}</td>
            <td><a class="fill" href=${withQuery({ event: event.id })}>${event.event}</a></td>
            <td><${Subject} event=${event} /></td>
            <td><${Id} id=${event.id} /></td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** What an event is about, with its page. */
function Subject({ event: { stream, payload } }) {
  const { asset, task } = payload ?? {};
  if (stream) return html`<a href=${`/dashboard/stream/${stream.parentId ?? stream.id}`}>${stream.name}</a>`;
  if (asset) return html`<a href=${`/dashboard/asset/${asset.id}`}>${asset.name}</a>`;
  if (task) return html`<a href=${`/dashboard/task/${task.id}`}>${task.name}</a>`;
  return '–';
}
