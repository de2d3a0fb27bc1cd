import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { call } from '../lib/api.js';
import { Download } from '../lib/download.js';
import { recent } from '../lib/events.js';
import { bytes, clockTime, duration } from '../lib/format.js';
import { html } from '../lib/html.js';
import { callIfThere, viewerId, wholeIfThere } from '../lib/live.js';
import { useLoad } from '../lib/load.js';
import { bitrate } from '../lib/measures.js';
import { AsCurl, Bones, CopyButton, Dot, Empty, Head, Id, Problem, Time } from '../lib/parts.js';
import { NoPicture, Picture } from '../lib/picture.js';
import { go, place, withQuery } from '../lib/place.js';
import { Plots } from '../lib/plot.js';
import { extentOf, lanes, timelineOf } from '../lib/timeline.js';
import { RecordingState, SessionState } from './stream.js';

export function Page({ id }) {
  const parent = useRef();
  const { data, error, cause } = useLoad(() => sessionOf(id), {
    deps: [id],
    every: 5000,
    on: ({ stream, payload }) =>
      (stream !== undefined && stream.id === parent.current) || payload?.session?.id === id,
  });
  const video = useRef();
  if (cause?.status === 404 && !data)
    return html`<${Head} title="Session" /><${Empty} title="There is no such session"><p>${error}</p><a href="/dashboard/streams">All streams</a><//>`;
  if (!data) return html`<${Head} title="Session" /><${Problem} text=${error} /><${Bones} rows=${8} />`;
  const { session } = data;
  parent.current = session.parentId;
  return html`<${Head} title=${`Session of ${session.name}`} state=${html`<${SessionState} session=${session} />`}>
      <a class="button" href=${`/dashboard/stream/${session.parentId}`}>Open the stream</a>
    <//>
    <div class="narrow stack">
      <${Problem} text=${error} />
      <div class="live-columns wide-picture">
        <${Film} session=${session} video=${video} />
        <${Facts} session=${session} />
      </div>
      <${TimeLine} data=${data} video=${video} />
      <${AsCurl} path=${`/api/session/${id}`} />
    </div>`;
}

async function sessionOf(id) {
  const [session, points, timeline] = await Promise.all([
    call('GET', `/api/session/${id}`),
    callIfThere('health', `/api/stream/${id}/health`),
    timelineFrom(id),
  ]);
  return { session, points: points ?? [], timeline };
}

const pageSize = 100;
/** Of a session with more entries the first ones are shown. */
const mostPages = 10;

async function timelineFrom(id) {
  const entries = [];
  let query = { limit: pageSize };
  for (let page = 0; page < mostPages; page += 1) {
    const { body, next } = await wholeIfThere('timeline', `/api/session/${id}/timeline`, { query });
    if (!body) return undefined;
    entries.push(...body);
    if (!next) break;
    query = Object.fromEntries(next.searchParams);
  }
  return entries;
}

/** The recording of a session is played by the id of the session. */
const recordingOf = ({ id, playbackPolicy }) => ({ playbackId: id, playbackPolicy });

function Film({ session, video }) {
  const { isActive, playbackUrl, recordingUrl, recordingStatus, recordingReadyBy, record } = session;
  if (isActive && playbackUrl)
    return html`<${Picture} url=${playbackUrl} of=${session} isLive sid=${viewerId} />`;
  if (recordingUrl) return html`<${Picture} url=${recordingUrl} of=${recordingOf(session)} video=${video} />`;
  if (recordingStatus === 'waiting')
    return html`<${NoPicture}><strong>The recording is being made</strong>
      ${recordingReadyBy && html`<span>It is ready by <${Time} at=${recordingReadyBy} />.</span>`}<//>`;
  return html`<${NoPicture}>${record ? 'There is no recording.' : 'This session was not recorded.'}<//>`;
}

function Facts({ session }) {
  const { id, createdAtMs, lastSeen, isActive, sourceSegmentsDuration, sourceBytes, mp4Url } = session;
  return html`<dl class="facts card">
    <dt>Session</dt><dd><${Id} id=${id} /></dd>
    <dt>Began</dt><dd><${Time} at=${createdAtMs} /></dd>
    <dt>Last media</dt><dd>${isActive ? 'Now' : html`<${Time} at=${lastSeen} />`}</dd>
    <dt>Length</dt><dd>${duration(sourceSegmentsDuration)}</dd>
    <dt>Received</dt><dd>${bytes(sourceBytes)}</dd>
    <dt>Recording</dt><dd><${RecordingState} session=${session} /></dd>
    ${mp4Url && html`<dt>File</dt><dd><${Download} url=${mp4Url} of=${recordingOf(session)}>Download mp4<//></dd>`}
  </dl>`;
}

/** Events, deliveries and issues above the bitrate, on one axis; a list of them below. */
function TimeLine({ data: { session, points, timeline }, video }) {
  const entries = useMemo(
    () => timelineOf({ session, points, timeline, events: recent.value }),
    [session, points, timeline, recent.value],
  );
  const { query } = place.value;
  const at = Number(query.get('at')) || undefined;
  const whole = extentOf(session, { points, entries });
  const range = query.has('from') ? [Number(query.get('from')), Number(query.get('to'))] : whole;
  const isZoomed = query.has('from');
  const pick = (time) => {
    go(withQuery({ at: Math.round(time) }), { replace: true });
    seek(video.current, { session, time });
  };
  const zoom = ([from, to]) =>
    go(withQuery({ from: Math.round(from), to: Math.round(to) }), { replace: true });
  const bands = useMemo(
    () => entries.filter(({ lane }) => lane === 'issues').map((entry) => [entry.at, entry.to]),
    [entries],
  );
  const marks = useMemo(() => (at ? [at] : []), [at]);
  // Each state began with an event that is listed.
  const listed = useMemo(() => entries.filter(({ lane }) => lane !== 'states'), [entries]);
  return html`<section class="stack" aria-label="Time line">
    <div class="row between">
      <h2>What happened</h2>
      <div class="row">
        ${isZoomed && html`<a class="button" href=${withQuery({ from: undefined, to: undefined })}>Whole session</a>`}
        ${at && html`<span class="mono">${clockTime(at)}</span> <${CopyButton} text=${location.href} label="a link to this moment">Copy a link to this moment<//>`}
        ${!at && html`<span class="muted">Click to choose a moment, drag to look closer.</span>`}
      </div>
    </div>
    <div class="time-line">
      ${lanes.map(([id, title]) => html`<${Lane} key=${id} title=${title} entries=${entries.filter(({ lane }) => lane === id)} range=${range} at=${at} onPick=${pick} />`)}
    </div>
    ${
      points.length > 0
        ? html`<${Plots} points=${points} measures=${onlyBitrate} bands=${bands} marks=${marks} range=${range} onPick=${pick} onRange=${zoom} />`
        : html`<p class="muted">The bitrate of a session is kept until 10 minutes after its end.</p>`
    }
    <${Entries} entries=${listed} at=${at} onPick=${pick} />
  </section>`;
}

const onlyBitrate = [bitrate];

/** A film without reconnects is as long as its session was: then a moment of one is a moment of the other. */
function seek(video, { session, time }) {
  const { createdAtMs, lastSeen = 0, sourceSegmentsDuration } = session;
  if (!video || Math.abs(lastSeen - createdAtMs - sourceSegmentsDuration * 1000) > 5000) return;
  video.currentTime = Math.max(0, (time - createdAtMs) / 1000);
}

/** A state that takes less of the time line has no room for its name. */
const leastNamed = 0.06;

function Lane({ title, entries, range: [from, to], at, onPick }) {
  const place = (time) => `${Math.min(100, Math.max(0, ((time - from) / (to - from)) * 100))}%`;
  const shown = entries.filter((entry) => (entry.to ?? entry.at) >= from && entry.at <= to);
  const isNamed = (entry) => entry.lane === 'states' && entry.to - entry.at > (to - from) * leastNamed;
  const after = entries.filter((entry) => entry.at > to).length;
  return html`<div class="lane">
    <span class="label muted">${title}</span>
    <div class="track">
      ${after > 0 && html`<span class="after muted">+${after} later</span>`}
      ${shown.map(
        (entry) => html`<button
          key=${entry.id}
          type="button"
          class=${`mark ${entry.lane} ${entry.kind} ${entry.to ? 'span' : ''}`}
          style=${{ left: place(entry.at), ...(entry.to && { right: `calc(100% - ${place(entry.to)})` }) }}
          title=${`${clockTime(entry.at)} ${entry.title}`}
          aria-label=${`${entry.title}, ${clockTime(entry.at)}`}
          onClick=${() => onPick(entry.at)}
        >${isNamed(entry) && entry.title}</button>`,
      )}
      ${at >= from && at <= to && html`<i class="now" style=${{ left: place(at) }}></i>`}
    </div>
  </div>`;
}

function Entries({ entries, at, onPick }) {
  const list = useRef();
  const nearest =
    at &&
    entries.reduce((best, one) => (Math.abs(one.at - at) < Math.abs(best.at - at) ? one : best), entries[0]);
  useEffect(() => {
    const row = list.current?.querySelector('[aria-current]');
    // Only the list moves, not the page.
    if (row) list.current.scrollTop = row.offsetTop - list.current.clientHeight / 3;
  }, [nearest?.id]);
  return html`<ul class="lines entries" ref=${list}>
    ${entries.map(
      (entry) => html`<li key=${entry.id} aria-current=${entry.id === nearest?.id ? 'true' : undefined}>
        <button class="copy mono" type="button" onClick=${() => onPick(entry.at)}>${clockTime(entry.at)}</button>
        <${Dot} kind=${entry.kind}>${entry.lane === 'issues' ? 'Issue' : entry.title}<//>
        <span class="muted">${entry.lane === 'issues' ? entry.title : entry.detail}</span>
        ${entry.to && html`<span class="muted push">for ${duration((entry.to - entry.at) / 1000)}</span>`}
        ${entry.json && html`<${Json} of=${entry.json} />`}
      </li>`,
    )}
  </ul>`;
}

/** Written when it is opened: a time line can have hundreds. */
function Json({ of }) {
  const [isOpen, setOpen] = useState(false);
  return html`<details onToggle=${({ target }) => setOpen(target.open)}>
    <summary class="muted">JSON</summary>
    ${isOpen && html`<pre class="code" tabindex="0" aria-label="JSON">${JSON.stringify(of, null, 2)}</pre>`}
  </details>`;
}
