import { useEffect, useRef, useState } from 'preact/hooks';
import { byWeight, Issue } from '../lib/advice.js';
import { allows, call } from '../lib/api.js';
import { useArrival } from '../lib/arrival.js';
import { serverNow } from '../lib/clock.js';
import { encoderOf, encoders } from '../lib/encoders.js';
import { rate } from '../lib/format.js';
import { html } from '../lib/html.js';
import { callIfThere, issuesOf, useStream, viewerId } from '../lib/live.js';
import { useLoad, useWrite } from '../lib/load.js';
import { localUrl } from '../lib/local-url.js';
import { AsCurl, Bones, Copied, CopyButton, Dot, Field, Head, Problem, Time } from '../lib/parts.js';
import { NoPicture, Picture, trackText } from '../lib/picture.js';
import { go, place, withQuery } from '../lib/place.js';

export function Page() {
  const id = place.value.query.get('stream') ?? '';
  const [encoderId, setEncoder] = useState(localStorage.getItem('millrace.encoder') ?? 'obs');
  const encoder = encoderOf(encoderId);
  const choose = (value) => {
    localStorage.setItem('millrace.encoder', value);
    setEncoder(value);
  };
  const watched = useStream(id);
  const { stream } = watched;
  return html`<${Head} title="Go live" state=${stream && html`<${State} stream=${stream} />`}>
      ${stream && html`<a class="button" href=${`/dashboard/stream/${id}`}>Open the stream</a>`}
    <//>
    <div class="narrow stack go-live">
      <section class="card stack" aria-label="Stream">
        <h2><span class="step">1</span> Stream</h2>
        <${ChooseStream} id=${id} stream=${stream} problem=${watched.error} />
      </section>
      ${
        stream &&
        html`<section class="card stack" aria-label="Encoder">
            <h2><span class="step">2</span> Encoder</h2>
            <${ChooseEncoder} chosen=${encoder.id} onChoose=${choose} />
            <${Settings} encoder=${encoder} stream=${stream} />
          </section>
          <${Listening} key=${id} encoder=${encoder} stream=${stream} points=${watched.points} />`
      }
    </div>`;
}

function State({ stream: { isActive, issues } }) {
  if (isActive && issues.length > 0) return html`<${Dot} kind="warn">On the air, with issues<//>`;
  if (isActive) return html`<${Dot} kind="on-air">On the air<//>`;
  return html`<${Dot} kind="wait">Listening for the encoder<//>`;
}

function ChooseStream({ id, stream, problem }) {
  const { data, error } = useLoad(
    () => call('GET', '/api/stream', { query: { streamsonly: 1, limit: 100 } }),
    {
      deps: [id],
    },
  );
  const { run, isBusy, problem: refused } = useWrite();
  const create = async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const body = { name: form.get('name').trim(), record: form.get('record') === 'on' };
    const made = await run(() => call('POST', '/api/stream', { body }));
    if (made) go(withQuery({ stream: made.id }), { replace: true });
  };
  const choose = ({ target }) => go(withQuery({ stream: target.value }), { replace: true });
  if (!data && !error && !stream) return html`<${Bones} rows=${2} />`;
  const known = data ?? [];
  const isListed = known.some((one) => one.id === id);
  return html`
    ${
      known.length + Number(Boolean(stream)) > 0 &&
      html`<div class="row">
        <select class="wide" aria-label="Stream" value=${id} onChange=${choose}>
          <option value="">${id ? 'Create another one …' : 'Choose a stream'}</option>
          ${stream && !isListed && html`<option value=${id}>${stream.name}</option>`}
          ${known.map((one) => html`<option value=${one.id}>${one.name}</option>`)}
        </select>
      </div>`
    }
    <${Problem} text=${problem} />
    ${!id && known.length > 0 && html`<p class="muted">Or create one:</p>`}
    ${
      !id &&
      allows('POST', 'stream') &&
      html`<form class="row end-aligned" onSubmit=${create}>
          <${Field} label="Name">
            <input name="name" required maxlength="500" autocomplete="off" placeholder="Launch party" />
          <//>
          <label class="row check"><input type="checkbox" name="record" checked /> Record it</label>
          <button class="button primary" disabled=${isBusy}>Create the stream</button>
        </form>
        <${Problem} text=${refused} />
        <${AsCurl} method="POST" path="/api/stream" body=${{ name: 'Launch party', record: true }} />`
    }`;
}

function ChooseEncoder({ chosen, onChoose }) {
  return html`<fieldset class="choices">
    <legend class="hidden">Encoder</legend>
    ${encoders.map(
      ({ id, title }) => html`<label class="choice">
        <input type="radio" name="encoder" value=${id} checked=${id === chosen} onChange=${() => onChoose(id)} />
        ${title}
      </label>`,
    )}
  </fieldset>`;
}

function Settings({ encoder, stream: { ingest, streamKey } }) {
  if (!streamKey)
    return html`<${Problem} text="Your API key may not change this stream, so it does not show the stream key. Ask someone whose key may." />`;
  if (!ingest)
    return html`<${Problem} text="This server takes no broadcasts: it has no address for encoders." />`;
  const command = encoder.command?.(ingest);
  return html`<dl class="facts settings">
      ${encoder.fields(ingest).map(
        ([label, value, isSecret]) =>
          html`<dt>${label}</dt>
              <dd>
                ${/^rtmps?:/.test(value) || isSecret ? html`<${Copied} key=${label + value} text=${value} label=${label} isSecret=${isSecret} />` : html`<code>${value}</code>`}
              </dd>`,
      )}
    </dl>
    ${
      command &&
      html`<div class="command">
        <pre class="code" tabindex="0" aria-label="Command">${command.replaceAll(ingest.key, `••••${ingest.key.slice(-4)}`)}</pre>
        <${CopyButton} text=${command} label="the command with the key" />
      </div>`
    }
    <p class="muted">${encoder.note}</p>`;
}

/** What arrives of the broadcast, from the first byte to the first viewer. */
function Listening({ encoder, stream, points }) {
  const [tracks, setTracks] = useState();
  const arrival = useArrival({ stream, points }, { own: stream.isActive && tracks !== undefined });
  const isSilent = stream.isActive && tracks !== undefined && !tracks.audioCodec;
  useEffect(() => {
    if (!stream.isActive) setTracks(undefined);
  }, [stream.isActive]);
  return html`<section class="card stack" aria-label="Broadcast">
    <h2><span class="step">3</span> Start the encoder</h2>
    <div class="live-columns">
      <div class="stack">
        <${Progress} arrival=${arrival} stream=${stream} tracks=${tracks} points=${points} />
        <div class="stack" aria-live="polite">
          ${byWeight(issuesOf(stream, points)).map((text) => html`<${Issue} key=${text} text=${text} encoder=${encoder} />`)}
          ${isSilent && html`<${Issue} text="The broadcast has no sound." kind="noAudio" encoder=${encoder} />`}
          ${!arrival.connected && html`<${Refused} stream=${stream} encoder=${encoder} />`}
        </div>
      </div>
      ${
        stream.isActive
          ? html`<${Picture} url=${stream.playbackUrl} of=${stream} isLive sid=${viewerId} onTracks=${setTracks} />`
          : html`<${NoPicture}>${arrival.over ? 'The broadcast is over.' : 'The picture appears here.'}<//>`
      }
    </div>
  </section>`;
}

function Progress({ arrival, stream, tracks, points }) {
  const { connected, keyFrame, playable, viewer, over } = arrival;
  const bitrate = stream.ingestRate || points.at(-1)?.ingestRate;
  const watch = localUrl(stream.watchUrl);
  const rows = [
    ['Connected', connected, connected && bitrate ? rate(bitrate) : ''],
    ['First key frame', keyFrame, tracks ? trackText(tracks) : ''],
    ['Playable', playable, ''],
    ['First viewer', viewer, viewer ? '' : html`<a href=${watch} target="_blank">Open the watch page</a>`],
  ];
  const next = rows.findIndex(([, at]) => !at);
  return html`<ol class="progress">
    ${rows.map(
      (
        [title, at, more],
        index,
      ) => html`<li class=${at ? 'done' : ''} aria-current=${index === next ? 'step' : undefined}>
        <span class="sign" aria-hidden="true">${at ? '✓' : index === next ? '◌' : '·'}</span>
        <span>${title}<span class="hidden">${at ? ': done' : ': not yet'}</span></span>
        <span class="muted">${at || (title === 'First viewer' && playable) ? more : index === next ? 'waiting …' : ''}</span>
        <span class="muted end">${at > connected ? `+${((at - connected) / 1000).toFixed(1)} s` : ''}</span>
      </li>`,
    )}
  </ol>
  ${over && html`<p class="muted">The broadcast ended <${Time} at=${over} />. This page listens for the next one.</p>`}`;
}

/** Refused publishes that are shown: of this time, ms. */
const lately = 600_000;
/** Those that another setting of the encoder helps. */
const ofUrl = ['unknown_key', 'missing_key', 'unknown_app'];

/** The newest encoder that knocked and was refused: one at the address of the reader before all others. */
function Refused({ stream, encoder }) {
  const opened = useRef(serverNow());
  const { data } = useLoad(() => callIfThere('refused', '/api/ingest/refused'), { every: 2000 });
  const shown = (data ?? []).filter(({ at }) => at > opened.current - lately);
  const newest = shown.find(({ isYours }) => isYours) ?? shown[0];
  if (!newest) return null;
  const { at, address, encoder: program, reason, message, key } = newest;
  const text = `An encoder at ${address}${nameOf(program)} was refused: ${message}`;
  const own = stream.ingest?.key.slice(-4);
  return html`<${Issue} text=${text} kind=${ofUrl.includes(reason) ? 'wrongKey' : undefined} encoder=${encoder}>
    ${reason === 'unknown_key' && key && html`The key that was tried ends in <code>${key.slice(-4)}</code>, the key of this stream in <code>${own}</code>.`}
    ${' '}<span class="muted"><${Time} at=${at} /></span>
  <//>`;
}

/** Encoders call themselves `FMLE/3.0 (compatible; Lavf60.16.100)`: ` (ffmpeg)`. OBS says nothing of itself there. */
function nameOf(program = '') {
  const name = /compatible; ([^)]+)/.exec(program)?.[1] ?? program;
  if (name === '' || name.startsWith('FMSc')) return '';
  return ` (${name.startsWith('Lavf') ? 'ffmpeg' : name})`;
}
