import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { clockTime, fullMoment } from '../lib/format.js';
import { html } from '../lib/html.js';
import { Json } from '../lib/json.js';
import { useOpenapi, webhookEvents } from '../lib/openapi.js';
import { AsCurl, CopyButton, Dot, Empty, Head, Id, Problem } from '../lib/parts.js';
import { useEventLog } from '../lib/past-events.js';
import { go, place, withQuery } from '../lib/place.js';
import { rowKeys, Table } from '../lib/table.js';

/** Streams are looked for by id on the server, by name among those that are loaded. */
const idPattern = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

export function Page() {
  const { query } = place.value;
  const type = query.get('type') ?? '';
  const stream = query.get('stream') ?? '';
  const log = useEventLog({ type, streamId: idPattern.test(stream) ? stream : '' });
  const [held, setHeld] = useState();
  const all = held ?? log.events;
  const rows = useMemo(
    () => (type || stream ? all.filter((event) => isWanted(event, { type, stream })) : all),
    [all, type, stream],
  );
  const open = all.find(({ id }) => id === query.get('event'));
  const isEmpty = rows.length === 0 && log.isEnd;
  return html`<${Head} title="Events" state=${held ? html`<${Dot} kind="wait">Paused<//>` : html`<${Dot} kind="good">Following<//>`}>
      <button class="button" type="button" aria-pressed=${held !== undefined} onClick=${() => setHeld(held ? undefined : log.events)}>${held ? 'Go on' : 'Pause'}</button>
      <${CopyButton} text=${() => rows.map((event) => JSON.stringify(event)).join('\n')} label="all that are shown" className="button" />
    <//>
    <${Filters} type=${type} stream=${stream} seen=${all} />
    <${Problem} text=${log.error} />
    ${held && held[0] !== log.events[0] && html`<p class="muted" role="status">More came meanwhile.</p>`}
    ${
      isEmpty
        ? html`<${Empty} title=${all.length === 0 ? 'Nothing has happened for 24 hours' : 'No event fits'}>
            <p>${all.length === 0 ? 'Events of your streams, assets and tasks appear here as they come. Start a broadcast, or upload a film.' : 'Choose another type or stream.'}</p>
          <//>`
        : html`<div class=${`beside ${open ? 'open' : ''}`}>
            <${Rows} rows=${rows} chosen=${open?.id} log=${log} isHeld=${held !== undefined} />
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
    <${AsCurl} path=${`/api/events/log${type && `?type=${type}`}`} />
    <${AsCurl} path=${`/api/events${type && `?type=${type}`}`} />`;
}

function isWanted(event, { type, stream }) {
  if (type && event.event !== type) return false;
  if (!stream) return true;
  const { id = '', name = '', parentId = '' } = event.stream ?? {};
  return [id, parentId].includes(stream) || name.toLowerCase().includes(stream.toLowerCase());
}

function Filters({ type, stream, seen }) {
  const names = [
    ...new Set([...webhookEvents(useOpenapi()), ...seen.slice(0, 200).map(({ event }) => event)]),
  ];
  const set = (changes) => go(withQuery(changes), { replace: true });
  return html`<div class="filters" role="search">
    <select aria-label="Type" value=${type} onChange=${({ target }) => set({ type: target.value })}>
      <option value="">Type: all</option>
      ${names.map((name) => html`<option value=${name}>${name}</option>`)}
    </select>
    <input type="search" aria-label="Stream" placeholder="Stream: name or id" data-filter value=${stream} onInput=${({ target }) => set({ stream: target.value })} />
  </div>`;
}

const columns = [
  {
    title: 'Time',
    cell: ({ timestamp }) =>
      html`<span class="mono" title=${fullMoment(timestamp)}>${clockTime(timestamp)}</span>`,
  },
  { title: 'Event', isLink: true, cell: ({ event }) => event },
  { title: 'Of', cell: (event) => html`<${Subject} event=${event} />` },
  { title: 'Id', cell: ({ id }) => html`<${Id} id=${id} />` },
];

function Rows({ rows, chosen, log, isHeld }) {
  const box = useRef();
  useEffect(() => rowKeys(box), []);
  return html`<div>
    <div class="scroll" ref=${box} tabindex="0" role="region" aria-label="Events">
      <${Table} rows=${rows} columns=${columns} chosen=${chosen} hrefOf=${({ id }) => withQuery({ event: id })} />
    </div>
    ${!log.isEnd && !isHeld && html`<${Older} key=${log.events.length} log=${log} />`}
  </div>`;
}

/** Loads more when the reader comes near the end. */
function Older({ log }) {
  const button = useRef();
  useEffect(() => {
    const observer = new IntersectionObserver(([{ isIntersecting }]) => isIntersecting && log.older(), {
      rootMargin: '600px',
    });
    observer.observe(button.current);
    return () => observer.disconnect();
  }, []);
  return html`<p class="row foot"><button class="button" type="button" ref=${button} disabled=${log.isLoading} onClick=${log.older}>Older events</button></p>`;
}

/** What an event is about, with its page. */
function Subject({ event: { stream, payload } }) {
  const { asset, task } = payload ?? {};
  if (stream) return html`<a href=${`/dashboard/stream/${stream.parentId ?? stream.id}`}>${stream.name}</a>`;
  if (asset) return html`<a href=${`/dashboard/asset/${asset.id}`}>${asset.name}</a>`;
  if (task) return html`<a href=${`/dashboard/task/${task.id}`}>${task.name}</a>`;
  return '–';
}
