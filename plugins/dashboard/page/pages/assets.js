import { useRef, useState } from 'preact/hooks';
import { allows, call } from '../lib/api.js';
import { Still } from '../lib/film.js';
import { bytes, duration } from '../lib/format.js';
import { html } from '../lib/html.js';
import { List } from '../lib/list.js';
import { useWrite } from '../lib/load.js';
import { AsCurl, Dialog, Dot, Empty, Field, Head, Problem, Time } from '../lib/parts.js';
import { go, place, withQuery } from '../lib/place.js';
import { Check } from '../lib/table.js';
import { addFiles } from '../lib/uploads.js';

export function Page() {
  const isImporting = place.value.query.has('new');
  const setImporting = (isOpen) => go(withQuery({ new: isOpen ? 1 : undefined }), { replace: true });
  const isTable = place.value.query.get('view') === 'table';
  const href = ({ id }) => `/dashboard/asset/${id}`;
  return html`<${Head} title="Assets">
      <a class="button" href=${withQuery({ view: isTable ? undefined : 'table' })}>${isTable ? 'As pictures' : 'As a table'}</a>
      ${allows('POST', 'asset/import') && html`<button class="button" type="button" onClick=${() => setImporting(true)}>Import a URL</button>`}
      ${allows('POST', 'asset/request-upload') && html`<${UploadButton} />`}
    <//>
    <${List}
      path="/api/asset"
      on=${({ event }) => event.startsWith('asset.') || event.startsWith('recording.')}
      hrefOf=${href}
      filters=${filters}
      columns=${columns}
      remove=${remove}
      view=${isTable ? undefined : (rows, selection) => html`<${Grid} rows=${rows} href=${href} selection=${selection} />`}
      empty=${html`<${Empty} title="No films yet">
        <p>An asset is a film that viewers can play: one that you upload or import, or the recording of a broadcast. Drop files anywhere on this page.</p>
        ${allows('POST', 'asset/request-upload') && html`<${UploadButton} />`}
      <//>`}
    />
    <${AsCurl} path="/api/asset" />
    ${isImporting && html`<${Import} onClose=${() => setImporting(false)} />`}`;
}

const remove = { one: 'asset', many: 'assets', path: ({ id }) => `/api/asset/${id}` };

const states = [
  ['ready', 'ready'],
  ['waiting', 'waiting'],
  ['failed', 'failed'],
];
const filters = [
  { id: 'name', title: 'Name' },
  { id: 'status', title: 'State', options: states },
];

const columns = [
  { title: 'Name', order: 'name', cell: ({ name }) => name },
  { title: 'State', cell: (asset) => html`<${State} asset=${asset} />` },
  { title: 'Length', isEnd: true, cell: ({ videoSpec }) => duration(videoSpec?.duration) },
  { title: 'Size', isEnd: true, cell: ({ size }) => bytes(size) },
  { title: 'From', cell: ({ source }) => origins[source.type] ?? source.type },
  { title: 'Created', order: 'createdAt', cell: ({ createdAt }) => html`<${Time} at=${createdAt} />` },
];

/** Types of `source`, in words. */
export const origins = {
  directUpload: 'Upload',
  url: 'Import',
  recording: 'Recording',
  transcode: 'Transcode',
};

export function State({ asset: { status, statusMessage } }) {
  if (status === 'ready') return html`<${Dot} kind="good">Ready<//>`;
  if (status === 'failed') return html`<span title=${statusMessage}><${Dot} kind="bad">Failed<//></span>`;
  return html`<${Dot} kind="wait">Waiting for its file<//>`;
}

function Grid({ rows, href, selection }) {
  return html`<ul class="tiles">
    ${rows.map(
      (asset) => html`<li key=${asset.id} class=${selection?.has(asset.id) ? 'selected' : ''}>
        ${selection && html`<${Check} row=${asset} selection=${selection} />`}
        <a class="tile" href=${href(asset)} data-href=${href(asset)} data-id=${asset.id}>
          <${Still} asset=${asset} />
          <span class="name" title=${asset.name}>${asset.name}</span>
          <span class="row muted">
            ${asset.status === 'ready' ? html`<span>${duration(asset.videoSpec?.duration)}</span><span>${bytes(asset.size)}</span>` : html`<${State} asset=${asset} />`}
          </span>
        </a>
      </li>`,
    )}
  </ul>`;
}

function UploadButton() {
  const input = useRef();
  const choose = ({ target }) => {
    addFiles(target.files);
    target.value = '';
  };
  return html`<button class="button primary" type="button" onClick=${() => input.current.click()}>Upload files</button>
    <input type="file" multiple hidden ref=${input} onChange=${choose} accept="video/*,.mkv,.ts,.flv" aria-label="Files to upload" />`;
}

function Import({ onClose }) {
  const [url, setUrl] = useState('');
  const [name, setName] = useState('');
  const { run, isBusy, problem } = useWrite();
  const submit = async (event) => {
    event.preventDefault();
    const body = { url, name: name || nameOf(url) };
    const made = await run(() => call('POST', '/api/asset/import', { body }));
    if (made) go(`/dashboard/asset/${made.asset.id}`);
  };
  return html`<${Dialog} title="Import a URL" onClose=${onClose}>
    <form class="stack" onSubmit=${submit}>
      <${Field} label="URL" hint="The server fetches the file from here">
        <input type="url" name="url" required value=${url} placeholder="https://example.com/film.mp4" onInput=${({ target }) => setUrl(target.value)} />
      <//>
      <${Field} label="Name" hint="Default: that of the file">
        <input name="name" value=${name} onInput=${({ target }) => setName(target.value)} />
      <//>
      <${Problem} text=${problem} />
      <div class="row">
        <button class="button primary" disabled=${isBusy}>Import</button>
        <button class="button" type="button" onClick=${onClose}>Cancel</button>
      </div>
    </form>
  <//>`;
}

function nameOf(url) {
  try {
    return decodeURIComponent(new URL(url).pathname.split('/').pop()) || 'Import';
  } catch {
    return 'Import';
  }
}
