import { useState } from 'preact/hooks';
import { html } from './html.js';
import { useOpenapi } from './openapi.js';
import { Copied, CopyButton, Field } from './parts.js';
import { useToken } from './playback-token.js';

/** Code that shows a stream or an asset (`of`) in another page, and how that looks. `isLive`: it has no beginning to start from. */
export function Embed({ of, isLive = false }) {
  const { playbackId, name: title } = of;
  const urlOf = useToken(of);
  const [kind, setKind] = useState('frame');
  const [options, setOptions] = useState({});
  const document = useOpenapi();
  if (!document?.paths['/embed/{playbackId}']) return null;
  const set = (changes) => setOptions({ ...options, ...changes });
  const text = codes[kind]({ playbackId, title, options });
  const flag = (name, words) => html`<label class="row">
    <input type="checkbox" checked=${options[name] === true} onChange=${({ target }) => set({ [name]: target.checked })} /> ${words}
  </label>`;
  return html`<section class="card stack" aria-label="Embed code">
    <h2>Embed code</h2>
    <div class="row embed-options">
      <select aria-label="Kind of code" value=${kind} onChange=${({ target }) => setKind(target.value)}>
        <option value="frame">Frame</option>
        <option value="element">Web component</option>
      </select>
      ${flag('autoplay', 'Autoplay')} ${flag('muted', 'Muted')}
      ${
        !isLive &&
        html`<${Field} label="Start, s">
        <input type="number" min="0" value=${options.start ?? ''} onChange=${({ target }) => set({ start: Number(target.value) || undefined })} />
      <//>`
      }
      <${Field} label="Colour">
        <input type="color" value=${`#${options.color ?? '2b7fb8'}`} onChange=${({ target }) => set({ color: target.value.slice(1) })} />
      <//>
      ${options.color && html`<button class="copy" type="button" onClick=${() => set({ color: undefined })}>Default colour</button>`}
    </div>
    <iframe class="preview" title=${`Preview of ${title}`} src=${urlOf?.(`/embed/${playbackId}${queryOf(options)}`)} loading="lazy" allow="autoplay; fullscreen; picture-in-picture"></iframe>
    <div class="json">
      <${CopyButton} text=${text} label="the embed code" />
      <pre class="code wrap" tabindex="0" aria-label="Embed code">${text}</pre>
    </div>
    ${of.playbackPolicy?.type === 'signed' && html`<p class="hint">Viewers need a token: ${tokenHints[kind]}.</p>`}
    <dl class="facts">
      <dt>Watch page</dt>
      <dd><${Copied} text=${`${location.origin}/watch/${playbackId}`} label="the link to watch it" /></dd>
    </dl>
  </section>`;
}

const names = ['autoplay', 'muted', 'start', 'color'];

/** Options that are set, as text. */
const given = (options) => names.filter((name) => options[name]).map((name) => [name, options[name]]);

function queryOf(options) {
  const pairs = given(options).map(([name, value]) => `${name}=${value === true ? 1 : value}`);
  return pairs.length > 0 ? `?${pairs.join('&')}` : '';
}

const tokenHints = {
  frame: html`add <code>?token=…</code> to the address of the frame`,
  element: html`add the attribute <code>token="…"</code>`,
};

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');

const codes = {
  frame: ({ playbackId, title, options }) =>
    `<iframe src="${location.origin}/embed/${playbackId}${escaped(queryOf(options))}" title="${escaped(title)}" width="640" height="360" allow="autoplay; fullscreen; picture-in-picture" allowfullscreen style="border:0"></iframe>`,
  element: ({ playbackId, title, options }) => {
    const attributes = given(options).map(([name, value]) =>
      value === true ? ` ${name}` : ` ${name}="${value}"`,
    );
    return [
      `<script src="${location.origin}/embed/player.js" defer></script>`,
      `<millrace-player playback-id="${playbackId}" title="${escaped(title)}"${attributes.join('')}></millrace-player>`,
    ].join('\n');
  },
};
