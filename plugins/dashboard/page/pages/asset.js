import { useState } from 'preact/hooks';
import { allows, call } from '../lib/api.js';
import { deleteLater } from '../lib/deletion.js';
import { Download } from '../lib/download.js';
import { Embed } from '../lib/embed.js';
import { Panels } from '../lib/extensions.js';
import { Film } from '../lib/film.js';
import { bytes, count, duration, rate } from '../lib/format.js';
import { html } from '../lib/html.js';
import { useLoad } from '../lib/load.js';
import { AsCurl, Bones, Copied, Head, Id, Problem, Time } from '../lib/parts.js';
import { go } from '../lib/place.js';
import { Access, hasAccess } from './access.js';
import { Export, Rename, Transcode } from './asset-dialogs.js';
import { origins, State } from './assets.js';
import { TaskState } from './tasks.js';

const dialogs = { rename: Rename, transcode: Transcode, export: Export };

export function Page({ id }) {
  const {
    data: asset,
    error,
    reload,
  } = useLoad(() => call('GET', `/api/asset/${id}`), {
    deps: [id],
    on: (event) => event.event.startsWith('asset.') || event.event.startsWith('task.'),
    every: 10_000,
  });
  const [open, setOpen] = useState();
  if (!asset) return html`<${Head} title="Asset" /><${error ? Problem : Bones} text=${error} />`;
  const close = () => {
    setOpen(undefined);
    void reload();
  };
  const Dialog = dialogs[open];
  const isReady = asset.status === 'ready';
  const remove = () => {
    deleteLater([{ id, path: `/api/asset/${id}`, title: asset.name }]);
    go('/dashboard/assets');
  };
  return html`<${Head} title=${asset.name} state=${html`<${State} asset=${asset} />`}>
      ${isReady && allows('POST', `asset/${id}/export`) && html`<button class="button primary" type="button" onClick=${() => setOpen('export')}>Export</button>`}
      ${isReady && allows('POST', `asset/${id}/transcode`) && html`<button class="button" type="button" onClick=${() => setOpen('transcode')}>Transcode</button>`}
      ${allows('PATCH', `asset/${id}`) && html`<button class="button" type="button" onClick=${() => setOpen('rename')}>Rename</button>`}
      ${allows('DELETE', `asset/${id}`) && html`<button class="button bad" type="button" onClick=${remove}>Delete</button>`}
    <//>
    <${Problem} text=${error} />
    ${asset.statusMessage && html`<p class=${asset.status === 'failed' ? 'notice bad' : 'notice'}>${asset.statusMessage}</p>`}
    <div class="columns narrow">
      <div class="stack">
        ${
          isReady
            ? html`<${Film} asset=${asset} />`
            : html`<div class="film"><p class="muted">${asset.status === 'failed' ? 'There is nothing to play.' : 'It plays here when its file has arrived.'}</p></div>`
        }
        ${hasAccess('asset') && html`<${Access} kind="asset" thing=${asset} onChange=${reload} />`}
        ${isReady && html`<${Embed} of=${asset} />`}
        <${Panels} on="asset" id=${id} />
        <${Tasks} id=${id} />
      </div>
      <div class="stack">
        <${Facts} asset=${asset} />
        ${isReady && html`<${Tracks} tracks=${asset.videoSpec?.tracks ?? []} /><${Files} asset=${asset} />`}
        <${AsCurl} path=${`/api/asset/${id}`} />
      </div>
    </div>
    ${Dialog && html`<${Dialog} asset=${asset} onClose=${close} />`}`;
}

function Facts({ asset }) {
  const { videoSpec, source } = asset;
  const session =
    source.sessionId && html`<a href=${`/dashboard/session/${source.sessionId}`}>the session</a>`;
  const input =
    source.inputAssetId && html`<a href=${`/dashboard/asset/${source.inputAssetId}`}>another asset</a>`;
  const tags = Object.entries(asset.userTags);
  return html`<section class="card stack" aria-label="Facts">
    <h2>Facts</h2>
    <dl class="facts">
      <dt>Id</dt>
      <dd><${Id} id=${asset.id} /></dd>
      <dt>Playback id</dt>
      <dd><${Copied} text=${asset.playbackId} label="the playback id" /></dd>
      <dt>Length</dt>
      <dd>${duration(videoSpec?.duration)}</dd>
      <dt>Size</dt>
      <dd>${bytes(asset.size)}</dd>
      <dt>Bitrate</dt>
      <dd>${rate(videoSpec?.bitrate)}</dd>
      <dt>From</dt>
      <dd>${origins[source.type] ?? source.type} ${session ?? input ?? source.url ?? ''}</dd>
      <dt>Created</dt>
      <dd><${Time} at=${asset.createdAt} />${asset.createdByTokenName && ` with the key ${asset.createdByTokenName}`}</dd>
      ${tags.length > 0 && html`<dt>Tags</dt><dd>${tags.map(([name, value]) => `${name}: ${value}`).join(', ')}</dd>`}
    </dl>
  </section>`;
}

function Tracks({ tracks }) {
  const sizeOf = ({ width, height, channels }) =>
    width
      ? `${width}×${height}`
      : channels === 1
        ? 'mono'
        : channels === 2
          ? 'stereo'
          : `${count(channels)} channels`;
  const paceOf = ({ fps, sampleRate }) =>
    sampleRate ? `${count(sampleRate)} Hz` : fps ? `${count(fps)} fps` : '–';
  return html`<section class="stack" aria-label="Tracks">
    <h2>Tracks</h2>
    <div class="scroll" tabindex="0" role="region" aria-label="List of tracks">
      <table class="list">
        <thead><tr><th>Type</th><th>Codec</th><th>Size</th><th class="end">Pace</th><th class="end">Bitrate</th></tr></thead>
        <tbody>
          ${tracks.map(
            (track) => html`<tr>
              <td>${track.type}</td><td>${track.codec}</td><td>${sizeOf(track)}</td>
              <td class="end">${paceOf(track)}</td><td class="end">${rate(track.bitrate)}</td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
}

function Files({ asset }) {
  const { downloadUrl, originalUrl, playbackUrl, hash = [] } = asset;
  const links = [
    ['Film', downloadUrl],
    ['Original', originalUrl],
    ['HLS', playbackUrl],
  ].filter(([, url]) => url);
  return html`<section class="card stack" aria-label="Files">
    <h2>Files</h2>
    <dl class="facts">
      ${links.map(
        ([title, url]) => html`<dt>${title}</dt>
          <dd class="row">
            <${Copied} text=${url} label=${`the URL of ${title}`} />
            ${title !== 'HLS' && html`<${Download} url=${url} of=${asset} label=${`Download ${title}`}>Download<//>`}
          </dd>`,
      )}
      ${hash.map(({ algorithm, hash: value }) => html`<dt>${algorithm}</dt><dd><${Copied} text=${value} label=${algorithm} /></dd>`)}
    </dl>
  </section>`;
}

const placeholder = {};

/** Tasks that made this asset or work on it. */
function Tasks({ id }) {
  const of = (field) => ({ filters: JSON.stringify([{ id: field, value: id }]), limit: 10 });
  const load = async () => {
    const read = (field) => call('GET', '/api/task', { query: of(field) });
    const found = (await Promise.all([read('inputAssetId'), read('outputAssetId')])).flat();
    return found.sort((a, b) => b.createdAt - a.createdAt);
  };
  // Nearly every asset has one: its place is kept.
  const { data: tasks = [placeholder], error } = useLoad(load, {
    deps: [id],
    on: ({ event }) => event.startsWith('task.'),
    every: 2000,
  });
  if (!allows('GET', 'task') || tasks.length === 0 || error) return null;
  return html`<section class="stack" aria-label="Tasks">
    <h2>Tasks</h2>
    <ul class="plain">
      ${tasks.map((task) =>
        task === placeholder
          ? html`<li>${'\u00a0'}</li>`
          : html`<li class="row" key=${task.id}>
          <a href=${`/dashboard/task/${task.id}`}>${task.type}</a><${TaskState} task=${task} /><span class="muted"><${Time} at=${task.createdAt} /></span>
        </li>`,
      )}
    </ul>
  </section>`;
}
