import { useState } from 'preact/hooks';
import { byWeight, Issue } from '../lib/advice.js';
import { allows } from '../lib/api.js';
import { Download } from '../lib/download.js';
import { Embed } from '../lib/embed.js';
import { Panels } from '../lib/extensions.js';
import { count, duration, rate } from '../lib/format.js';
import { html } from '../lib/html.js';
import { List } from '../lib/list.js';
import { issuesOf, useStream, viewerId } from '../lib/live.js';
import { localUrl } from '../lib/local-url.js';
import { measures } from '../lib/measures.js';
import { AsCurl, Bones, Copied, Dot, Empty, Head, Problem, Tabs, Time } from '../lib/parts.js';
import { NoPicture, Picture } from '../lib/picture.js';
import { place, withQuery } from '../lib/place.js';
import { Access, hasAccess } from './access.js';
import { Health } from './stream-health.js';
import { Settings } from './stream-settings.js';
import { Targets } from './stream-targets.js';
import { State } from './streams.js';

const tabs = [
  ['health', 'Health'],
  ['sessions', 'Sessions'],
  ['recordings', 'Recordings'],
  ['targets', 'Targets'],
  ['embed', 'Embed'],
  ['access', 'Who may watch'],
  ['settings', 'Settings'],
  ['api', 'API'],
];
const parts = {
  health: Health,
  sessions: Sessions,
  recordings: Recordings,
  targets: Targets,
  embed: EmbedCode,
  access: WhoMayWatch,
  settings: Settings,
  api: Calls,
};

export function Page({ id }) {
  const { stream, points, error, cause, reload } = useStream(id);
  if (cause?.status === 404)
    return html`<${Head} title="Stream" /><${Empty} title="There is no such stream"><p>${error}</p><a href="/dashboard/streams">All streams</a><//>`;
  if (!stream) return html`<${Head} title="Stream" /><${Problem} text=${error} /><${Bones} rows=${8} />`;
  const wanted = place.value.query.get('tab');
  const shown = tabs.filter(([tab]) => tab !== 'access' || hasAccess('stream'));
  const current = shown.some(([tab]) => tab === wanted) ? wanted : 'health';
  const watch = localUrl(stream.watchUrl);
  return html`<${Head} title=${stream.name} state=${html`<${State} stream=${stream} />`}>
      ${watch && html`<a class="button" href=${watch} target="_blank">Watch page</a>`}
      ${
        !stream.isActive &&
        html`<a class="button primary" href=${`/dashboard/go-live?stream=${id}`}>Set up the encoder</a>`
      }
    <//>
    <div class="narrow stack">
      <${Problem} text=${error} />
      <div class="live-columns wide-picture">
        <${NowPicture} stream=${stream} sid=${viewerId} />
        <div class="stack">
          <${Sentence} stream=${stream} />
          <${Figures} stream=${stream} points=${points} />
          ${byWeight(issuesOf(stream, points)).map((text) => html`<${Issue} key=${text} text=${text} />`)}
        </div>
      </div>
      <div>
        <${Tabs} tabs=${shown} current=${current} hrefOf=${(tab) => withQuery({ tab, order: undefined, cursor: undefined })} />
        <${parts[current]} stream=${stream} points=${points} reload=${reload} />
      </div>
      <${Panels} on="stream" id=${id} />
    </div>`;
}

function NowPicture({ stream }) {
  if (stream.isActive)
    return html`<${Picture} url=${stream.playbackUrl} of=${stream} isLive sid=${viewerId} />`;
  return html`<${NoPicture}>
    <strong>Off the air</strong>
    <span>${stream.lastSeen ? html`Last seen <${Time} at=${stream.lastSeen} />` : 'It was never on the air.'}</span>
  <//>`;
}

/** The state in one sentence. */
function Sentence({ stream: { isActive, issues, suspended, record, lastSeen, isHealthy } }) {
  const recorded = record ? ' It is being recorded.' : '';
  if (isActive && isHealthy === false)
    return html`<p class="sentence">It is on the air, but something is wrong.${recorded}</p>`;
  if (isActive && issues.length > 0)
    return html`<p class="sentence">It is on the air, and viewers see it well. Something else needs a look.${recorded}</p>`;
  if (isActive) return html`<p class="sentence">It is on the air, and everything is fine.${recorded}</p>`;
  if (suspended)
    return html`<p class="sentence">It is suspended: broadcasts are refused. Resume it under Settings.</p>`;
  if (!lastSeen) return html`<p class="sentence">It waits for its first broadcast. Set up an encoder.</p>`;
  return html`<p class="sentence">It is off the air. It begins again when the encoder does.</p>`;
}

function Figures({ stream, points }) {
  const last = stream.isActive ? points.at(-1) : undefined;
  const [, fps, keyFrames] = measures;
  return html`<dl class="figures">
    <div><dt>Bitrate</dt><dd>${stream.isActive ? rate(stream.ingestRate) : '–'}</dd></div>
    <div><dt>Frames a second</dt><dd>${last ? fps.text(last.fps) : '–'}</dd></div>
    <div><dt>Key-frame interval</dt><dd>${last ? keyFrames.text(last.keyFrameInterval) : '–'}</dd></div>
    <div><dt>Viewers${stream.isActive ? ' (with you)' : ''}</dt><dd>${stream.isActive ? count(stream.viewerCount) : '–'}</dd></div>
  </dl>`;
}

function Sessions({ stream }) {
  return html`<${List}
    path=${`/api/stream/${stream.id}/sessions`}
    on=${({ event, stream: of }) => event.startsWith('stream.') && of?.id === stream.id}
    every=${10_000}
    hrefOf=${({ id }) => `/dashboard/session/${id}`}
    columns=${[
      { title: 'Began', order: 'createdAt', cell: ({ createdAtMs }) => html`<${Time} at=${createdAtMs} />` },
      { title: 'State', cell: (session) => html`<${SessionState} session=${session} />` },
      {
        title: 'Length',
        isEnd: true,
        cell: ({ sourceSegmentsDuration }) => duration(sourceSegmentsDuration),
      },
      { title: 'Recorded', cell: ({ record }) => (record ? 'Yes' : 'No') },
    ]}
    empty=${html`<${Empty} title="No broadcasts yet">
      <p>A session is one broadcast, with all its reconnects. The first one appears when an encoder connects.</p>
      <a class="button" href=${`/dashboard/go-live?stream=${stream.id}`}>Set up the encoder</a>
    <//>`}
  />`;
}

export function SessionState({ session: { isActive, isHealthy } }) {
  if (isActive && isHealthy === false) return html`<${Dot} kind="warn">On air, with issues<//>`;
  return isActive ? html`<${Dot} kind="on-air">On air<//>` : html`<${Dot} kind="quiet">Off air<//>`;
}

function Recordings({ stream }) {
  return html`<${List}
    path=${`/api/stream/${stream.id}/sessions`}
    query=${{ record: 1 }}
    on=${({ event }) => event.startsWith('recording.') || event.startsWith('asset.')}
    hrefOf=${({ id }) => `/dashboard/session/${id}`}
    columns=${[
      {
        title: 'Session of',
        order: 'createdAt',
        cell: ({ createdAtMs }) => html`<${Time} at=${createdAtMs} />`,
      },
      { title: 'State', cell: (session) => html`<${RecordingState} session=${session} />` },
      {
        title: 'Length',
        isEnd: true,
        cell: ({ sourceSegmentsDuration }) => duration(sourceSegmentsDuration),
      },
      {
        title: 'File',
        cell: ({ id, mp4Url }) =>
          mp4Url &&
          html`<${Download} url=${mp4Url} of=${{ playbackId: id, playbackPolicy: stream.playbackPolicy }}>Download mp4<//>`,
      },
    ]}
    empty=${html`<${Empty} title="No recordings yet">
      <p>${stream.record ? 'The next broadcast is recorded.' : 'Switch recording on, and the next broadcast is recorded.'}</p>
      <a class="button" href=${withQuery({ tab: 'settings' })}>Settings</a>
    <//>`}
  />`;
}

export function RecordingState({ session: { recordingStatus, recordingReadyBy, isActive } }) {
  if (recordingStatus === 'ready') return html`<${Dot} kind="good">Ready<//>`;
  if (recordingStatus !== 'waiting') return html`<${Dot} kind="quiet">None<//>`;
  if (isActive) return html`<${Dot} kind="on-air">Recording<//>`;
  return html`<span><${Dot} kind="wait">Waiting<//>${recordingReadyBy && html` <span class="muted">ready by <${Time} at=${recordingReadyBy} /></span>`}</span>`;
}

function EmbedCode({ stream }) {
  return html`<${Embed} of=${stream} isLive />`;
}

function WhoMayWatch({ stream, reload }) {
  return html`<${Access} key=${stream.id} kind="stream" thing=${stream} onChange=${reload} />`;
}

function Calls({ stream: { id, playbackId, playbackUrl } }) {
  const [host] = useState(location.origin);
  return html`<div class="stack">
    <dl class="facts">
      <dt>Id</dt>
      <dd><${Copied} text=${id} label="the id" /></dd>
      <dt>Playback id</dt>
      <dd><${Copied} text=${playbackId} label="the playback id" /></dd>
      <dt>HLS</dt>
      <dd><${Copied} text=${playbackUrl ?? `${host}/hls/${playbackId}/index.m3u8`} label="the address of the playlist" /></dd>
    </dl>
    <section class="card calls" aria-label="Calls">
      ${calls(id).map(([title, call]) => html`<${AsCurl} key=${title} title=${title} ...${call} />`)}
    </section>
  </div>`;
}

const calls = (id) =>
  [
    ['This stream', { path: `/api/stream/${id}` }],
    ['Its health of the last hour', { path: `/api/stream/${id}/health` }],
    ['Its sessions', { path: `/api/stream/${id}/sessions` }],
    ['Its events as they happen', { path: `/api/events?streamId=${id}` }],
    ['Change it', { method: 'PATCH', path: `/api/stream/${id}`, body: { record: true } }],
    ['Give it a new key', { method: 'POST', path: `/api/stream/${id}/rotate-key` }],
    ['End its broadcast', { method: 'DELETE', path: `/api/stream/${id}/terminate` }],
  ].filter(([, { method = 'GET' }]) => allows(method, 'stream'));
