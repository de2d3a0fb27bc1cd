import { useEffect, useState } from 'preact/hooks';
import { byWeight, Issue, isBad } from '../lib/advice.js';
import { allows, call } from '../lib/api.js';
import { serverNow } from '../lib/clock.js';
import { eventText, kindOfEvent } from '../lib/event-text.js';
import { recent } from '../lib/events.js';
import { bytes, count, duration, rate } from '../lib/format.js';
import { html } from '../lib/html.js';
import { callIfThere } from '../lib/live.js';
import { useLoad, useNow } from '../lib/load.js';
import { Bones, CopyButton, Dot, Head, Problem, Time } from '../lib/parts.js';
import { Still } from '../lib/picture.js';

export function Page() {
  const { data, error } = useLoad(onAir, {
    every: 3000,
    on: ({ event }) => event.startsWith('stream.'),
  });
  const { data: others, error: unknown } = useLoad(troubles, {
    every: 30_000,
    on: ({ event }) => event === 'task.failed',
  });
  if (!data || (!others && !unknown))
    return html`<${Head} title="Home" /><${Problem} text=${error} /><${Bones} rows=${6} />`;
  const { streams, hasAny, ingest } = data;
  const issues = [...issuesOf(streams), ...(others ?? [])].sort((a, b) => b.weight - a.weight);
  return html`<${Head} title="Home" state=${html`<${State} issues=${issues} isKnown=${others !== undefined} />`} />
    <div class="narrow stack wide">
      <${Problem} text=${error ?? unknown} />
      ${issues.length > 0 && html`<${Issues} issues=${issues} />`}
      ${hasAny ? html`<${OnAir} streams=${streams} />` : html`<${FirstSteps} ingest=${ingest} />`}
      <div class="columns">
        <${Happened} />
        ${allows('GET', 'task') && html`<${UnderWay} />`}
      </div>
      ${allows('GET', 'system') && html`<${Server} />`}
    </div>`;
}

/** The disk and the nodes, in a line. */
function Server() {
  const { data } = useLoad(() => callIfThere('system', '/api/system'), { every: 30_000 });
  if (!data) return null;
  const { disk, nodes } = data;
  const alive = nodes.filter(({ isAlive }) => isAlive).length;
  const text = nodes.length === 1 ? 'One node' : `${alive} of ${nodes.length} nodes alive`;
  return html`<p class="muted">
    ${text}${disk && `, ${bytes(disk.freeBytes)} of ${bytes(disk.totalBytes)} free for data`}. ${' '}<a href="/dashboard/system">System</a>
  </p>`;
}

/** Streams on the air with when their session began, whether there is any stream at all, and without one where encoders go. */
async function onAir() {
  if (!allows('GET', 'stream')) return { streams: [], hasAny: true };
  const rows = await call('GET', '/api/stream', { query: { active: 1, limit: 100 } });
  const began = new Map(rows.filter((row) => row.parentId).map((row) => [row.parentId, row.createdAtMs]));
  const streams = rows.filter((row) => !row.parentId).map((row) => ({ ...row, began: began.get(row.id) }));
  if (streams.length > 0) return { streams, hasAny: true };
  const any = await call('GET', '/api/stream', { query: { streamsonly: 1, limit: 1 } });
  if (any.length > 0) return { streams, hasAny: true };
  const places = await call('GET', '/api/ingest').catch(() => []);
  return { streams, hasAny: false, ingest: places[0]?.ingest };
}

function issuesOf(streams) {
  return streams.flatMap((stream) =>
    byWeight(stream.issues).map((text) => ({
      text,
      of: stream.name,
      href: `/dashboard/stream/${stream.id}`,
      weight: isBad(text) ? 3 : stream.isHealthy === false ? 2 : 1,
    })),
  );
}

const day = 86_400_000;

/** What is wrong beside broadcasts: of the server, and tasks of the last day that failed. */
async function troubles() {
  const ready = fetch('/health/ready').then((answer) => answer.json());
  const filters = JSON.stringify([{ id: 'phase', value: 'failed' }]);
  const failed = allows('GET', 'task') ? call('GET', '/api/task', { query: { filters, limit: 20 } }) : [];
  const [{ issues = [] }, tasks] = await Promise.all([ready.catch(() => ({})), failed]);
  return [
    ...issues.map((text) => ({ text, of: 'This server', weight: 2 })),
    ...tasks
      .filter(({ status }) => status.updatedAt > serverNow() - day)
      .map(({ id, name, type, status }) => ({
        text: `The ${type} failed: ${status.errorMessage ?? 'no reason is known.'}`,
        of: name,
        href: `/dashboard/task/${id}`,
        weight: 1,
      })),
  ];
}

function State({ issues, isKnown }) {
  if (issues.length === 0) return isKnown ? html`<${Dot} kind="good">Everything is fine<//>` : null;
  return html`<${Dot} kind="warn">${issues.length === 1 ? 'One issue' : `${issues.length} issues`}<//>`;
}

function Issues({ issues }) {
  return html`<section class="stack tight" aria-label="Issues">
    ${issues.map(
      ({ text, of, href }) =>
        html`<${Issue} key=${`${of} ${text}`} text=${text} title=${href ? html`<a href=${href}>${of}</a>` : of} />`,
    )}
  </section>`;
}

function OnAir({ streams }) {
  const now = useNow();
  if (streams.length === 0)
    return html`<section class="stack tight" aria-label="On the air">
      <h2>On the air</h2>
      <p class="row"><span class="muted">Nothing is on the air.</span> <a href="/dashboard/go-live">Go live</a> <a href="/dashboard/streams">All streams</a></p>
    </section>`;
  return html`<section class="stack tight" aria-label="On the air">
    <h2>On the air</h2>
    <div class="grid">
      ${streams.map(
        ({
          id,
          name,
          playbackId,
          playbackPolicy,
          began,
          ingestRate,
          viewerCount,
          issues,
        }) => html`<a class="card on-air-tile" key=${id} href=${`/dashboard/stream/${id}`}>
          <${Still} of=${{ playbackId, playbackPolicy }} name=${name} />
          <div class="stack tight">
            <div class="row between"><strong class="ellipsis">${name}</strong>
              ${issues.length > 0 ? html`<${Dot} kind="warn">${issues.length === 1 ? 'One issue' : `${issues.length} issues`}<//>` : html`<${Dot} kind="on-air">On air<//>`}</div>
            <div class="row between muted">
              <span>${began ? duration((now - began) / 1000) : ''}</span>
              <span>${rate(ingestRate)}</span>
              <span>${count(viewerCount)} ${viewerCount === 1 ? 'viewer' : 'viewers'}</span>
            </div>
          </div>
        </a>`,
      )}
    </div>
  </section>`;
}

function Happened() {
  useNow(10_000);
  const shown = recent.value.slice(0, 12);
  return html`<section class="stack tight" aria-label="What just happened">
    <h2>What just happened</h2>
    ${shown.length === 0 && html`<p class="muted">Nothing in the last 24 hours. Events appear here as they happen.</p>`}
    ${
      shown.length > 0 &&
      html`<ul class="lines">
        ${shown.map((event) => {
          const { name, detail, about } = eventText(event);
          return html`<li key=${event.id}>
            <${Dot} kind=${kindOfEvent(event)}><code>${event.event}</code><//>
            ${about ? html`<a href=${about}>${name}</a>` : html`<span>${name}</span>`}
            <span class="muted push"><${Time} at=${event.createdAt} /></span>
            ${detail && html`<span class="muted whole">${detail}</span>`}
          </li>`;
        })}
      </ul>`
    }
  </section>`;
}

const underWay = ['running', 'waiting', 'pending'];

function UnderWay() {
  const [isBusy, setBusy] = useState(false);
  const { data, error } = useLoad(
    async () => {
      const of = (phase) => {
        const filters = JSON.stringify([{ id: 'phase', value: phase }]);
        return call('GET', '/api/task', { query: { filters, limit: 10 } });
      };
      return (await Promise.all(underWay.map(of))).flat();
    },
    { every: isBusy ? 2000 : 20_000, on: ({ event }) => event.startsWith('task.') },
  );
  const tasks = data ?? [];
  useEffect(() => setBusy(tasks.length > 0), [tasks.length > 0]);
  return html`<section class="stack tight" aria-label="What is under way">
    <h2>Under way</h2>
    <${Problem} text=${error} />
    ${data && tasks.length === 0 && html`<p class="muted">No uploads, imports, exports or transcodes are under way.</p>`}
    ${
      tasks.length > 0 &&
      html`<ul class="lines">
        ${tasks.map(
          ({ id, name, type, status: { phase, progress, errorMessage } }) => html`<li key=${id}>
            <a href=${`/dashboard/task/${id}`}>${name}</a>
            <span class="muted">${type}, ${phase}</span>
            <span class="push">${Math.round(progress * 100)} %</span>
            <progress value=${progress} max="1" aria-label=${`Progress of ${name}`}></progress>
            ${errorMessage && html`<span class="muted whole">${errorMessage}</span>`}
          </li>`,
        )}
      </ul>`
    }
  </section>`;
}

/** On an empty server: from nothing to a picture. */
function FirstSteps({ ingest = 'rtmp://localhost:1935/live' }) {
  const steps = [
    [
      'Create a stream',
      `curl -X POST ${location.origin}/api/stream -H "Authorization: Bearer $MILLRACE_KEY" -d '{"name": "My first stream", "record": true}'`,
    ],
    [
      'Broadcast to its key',
      `ffmpeg -re -f lavfi -i testsrc2=size=1280x720:rate=30 -f lavfi -i sine=frequency=440 -c:v libx264 -preset veryfast -g 60 -pix_fmt yuv420p -c:a aac -f flv ${ingest}/$STREAM_KEY`,
    ],
    ['Watch it', `open ${location.origin}/watch/$PLAYBACK_ID`],
  ];
  return html`<section class="card stack" aria-label="First steps">
    <div class="row between">
      <h2>Broadcast for the first time</h2>
      <a class="button primary" href="/dashboard/go-live">Do it here, step by step</a>
    </div>
    <ol class="steps">
      ${steps.map(
        ([title, command], index) => html`<li class="stack tight">
          <h3><span class="step">${index + 1}</span> ${title}</h3>
          <div class="command">
            <pre class="code" tabindex="0" aria-label=${title}>${command}</pre>
            <${CopyButton} text=${command} label=${`the command: ${title}`} />
          </div>
        </li>`,
      )}
    </ol>
  </section>`;
}
