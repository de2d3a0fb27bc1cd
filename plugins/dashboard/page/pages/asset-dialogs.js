import { useState } from 'preact/hooks';
import { call } from '../lib/api.js';
import { html } from '../lib/html.js';
import { useWrite } from '../lib/load.js';
import { Dialog, Field, Problem } from '../lib/parts.js';
import { go } from '../lib/place.js';

/** A dialog with a form: `onDo` makes the call. */
function Ask({ title, action, onClose, onDo, children }) {
  const { run, isBusy, problem } = useWrite();
  const submit = async (event) => {
    event.preventDefault();
    await run(onDo);
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <form class="stack" onSubmit=${submit}>
      ${children}
      <${Problem} text=${problem} />
      <div class="row">
        <button class="button primary" disabled=${isBusy}>${action}</button>
        <button class="button" type="button" onClick=${onClose}>Cancel</button>
      </div>
    </form>
  <//>`;
}

const textOf =
  (set) =>
  ({ target }) =>
    set(target.value);

export function Rename({ asset, onClose }) {
  const [name, setName] = useState(asset.name);
  const save = async () => {
    await call('PATCH', `/api/asset/${asset.id}`, { body: { name } });
    onClose();
  };
  return html`<${Ask} title="Rename" action="Save" onClose=${onClose} onDo=${save}>
    <${Field} label="Name"><input name="name" required maxlength="500" value=${name} onInput=${textOf(setName)} /><//>
  <//>`;
}

/** Name, width, height and bit/s, as streams use them. */
const profiles = [
  ['1080p', 1920, 1080, 5_000_000],
  ['720p', 1280, 720, 2_500_000],
  ['480p', 854, 480, 1_200_000],
  ['360p', 640, 360, 800_000],
];

export function Transcode({ asset, onClose }) {
  const [chosen, setChosen] = useState('720p');
  const [, width, height, bitrate] = profiles.find(([name]) => name === chosen);
  const [rate, setRate] = useState('');
  const start = async () => {
    const profile = { name: chosen, width, height, bitrate: rate ? Number(rate) * 1000 : bitrate, fps: 0 };
    const made = await call('POST', `/api/asset/${asset.id}/transcode`, { body: { profile } });
    go(`/dashboard/asset/${made.asset.id}`);
  };
  return html`<${Ask} title="Transcode" action="Transcode" onClose=${onClose} onDo=${start}>
    <p class="muted">A new asset is made. This one stays as it is.</p>
    <${Field} label="Size">
      <select name="profile" value=${chosen} onChange=${textOf(setChosen)}>
        ${profiles.map(([name, w, h]) => html`<option value=${name}>${name}, at most ${w}×${h}</option>`)}
      </select>
    <//>
    <${Field} label="Bitrate" hint=${`kb/s; default ${bitrate / 1000}`}>
      <input name="bitrate" type="number" min="50" value=${rate} onInput=${textOf(setRate)} />
    <//>
  <//>`;
}

export function Export({ asset, onClose }) {
  const [to, setTo] = useState('url');
  const [url, setUrl] = useState('');
  const [method, setMethod] = useState('PUT');
  const [headers, setHeaders] = useState('');
  const [jwt, setJwt] = useState('');
  const start = async () => {
    const custom = { url, method, headers: headersOf(headers) };
    const body = to === 'url' ? { custom } : { ipfs: jwt ? { pinning: { jwt } } : {} };
    const { task } = await call('POST', `/api/asset/${asset.id}/export`, { body });
    go(`/dashboard/task/${task.id}`);
  };
  return html`<${Ask} title="Export" action="Export" onClose=${onClose} onDo=${start}>
    <fieldset class="row">
      <legend class="label">To</legend>
      <label class="row"><input type="radio" name="to" checked=${to === 'url'} onChange=${() => setTo('url')} /> A URL</label>
      <label class="row"><input type="radio" name="to" checked=${to === 'ipfs'} onChange=${() => setTo('ipfs')} /> IPFS</label>
    </fieldset>
    ${
      to === 'url'
        ? html`<${Field} label="URL" hint="Such as a signed URL of a bucket">
            <input name="url" type="url" required value=${url} onInput=${textOf(setUrl)} />
          <//>
          <${Field} label="Method">
            <select name="method" value=${method} onChange=${textOf(setMethod)}>${['PUT', 'POST', 'PATCH'].map((one) => html`<option>${one}</option>`)}</select>
          <//>
          <${Field} label="Headers" hint="One a line: x-amz-acl: private">
            <textarea name="headers" rows="3" value=${headers} onInput=${textOf(setHeaders)}></textarea>
          <//>`
        : html`<${Field} label="Token of a pinning service" hint="Default: where this server exports to">
            <input name="jwt" type="password" autocomplete="off" value=${jwt} onInput=${textOf(setJwt)} />
          <//>`
    }
  <//>`;
}

function headersOf(text) {
  const lines = text.split('\n').filter((line) => line.includes(':'));
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(':');
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}
