import { useEffect, useRef, useState } from 'preact/hooks';
import { allows, call, signOut } from './api.js';
import { hrefOf } from './entries.js';
import { html } from './html.js';
import { finishUndo } from './parts.js';
import { go } from './place.js';
import { switchTheme } from './theme.js';

/** Every page and action by its name, and streams and assets by theirs. */
export function Palette({ pages, onClose, onHelp }) {
  const dialog = useRef();
  const [text, setText] = useState('');
  const [found, setFound] = useState([]);
  const [at, setAt] = useState(0);
  const list = useRef();
  useEffect(() => list.current.children[at]?.scrollIntoView({ block: 'nearest' }), [at]);
  useEffect(() => dialog.current.showModal(), []);
  useEffect(() => {
    if (text.length < 2) return setFound([]);
    const controller = new AbortController();
    const timer = setTimeout(async () => setFound(await search(text, controller.signal)), 150);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [text]);
  const words = text.toLowerCase();
  const known = commandsOf(pages, onHelp).filter(({ title }) => title.toLowerCase().includes(words));
  const shown = [...known, ...found].slice(0, 30);
  const run = (entry) => {
    if (!entry) return;
    onClose();
    entry.run();
  };
  const press = (event) => {
    if (event.key === 'ArrowDown') setAt(Math.min(at + 1, shown.length - 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(at - 1, 0));
    else if (event.key === 'Enter') run(shown[at]);
    else return;
    event.preventDefault();
  };
  const input = ({ target }) => {
    setText(target.value);
    setAt(0);
  };
  return html`<dialog class="palette" ref=${dialog} aria-label="Search or run a command" onClose=${onClose}>
    <input
      value=${text}
      onInput=${input}
      onKeyDown=${press}
      role="combobox"
      aria-expanded="true"
      aria-controls="palette-list"
      aria-activedescendant=${`palette-${at}`}
      aria-label="Page, command, stream or asset"
      placeholder="Page, command, stream or asset"
      autocomplete="off"
    />
    <ul id="palette-list" role="listbox" aria-label="Found" ref=${list}>
      ${shown.map(
        (entry, index) => html`<li
          id=${`palette-${index}`}
          role="option"
          aria-selected=${index === at}
          onMouseMove=${() => setAt(index)}
          onClick=${() => run(entry)}
        >
          <span>${entry.title}</span><span class="muted">${entry.kind}</span>
        </li>`,
      )}
    </ul>
    ${shown.length === 0 && html`<p class="muted none">Nothing has this name. Streams and assets are found by a part of theirs.</p>`}
  </dialog>`;
}

/** What creates something: its name, what the key must be allowed to POST, and its page. */
const creating = [
  ['Go live', 'stream', '/dashboard/go-live'],
  ['Create a stream', 'stream', '/dashboard/go-live'],
  ['Upload files', 'asset/request-upload', '/dashboard/assets'],
  ['Import a URL', 'asset/import', '/dashboard/assets?new=1'],
  ['Create a webhook', 'webhook', '/dashboard/webhooks?new=1'],
  ['Create an API key', 'api-token', '/dashboard/keys?new=1'],
];

function commandsOf(pages, onHelp) {
  const command = (title, run) => ({ title, kind: 'Command', run });
  return [
    ...pages.map(({ id, title }) => ({ title, kind: 'Page', run: () => go(hrefOf(id)) })),
    ...creating
      .filter(([, path]) => allows('POST', path))
      .map(([title, , href]) => command(title, () => go(href))),
    command('Light or dark', switchTheme),
    command('Keys', onHelp),
    { title: 'Guides', kind: 'Page', run: () => open('/docs/guides', '_blank') },
    { title: 'API reference', kind: 'Page', run: () => open('/docs', '_blank') },
    command('Sign out', () => signOut(finishUndo())),
  ];
}

async function search(text, signal) {
  const filters = JSON.stringify([{ id: 'name', value: text }]);
  const of = async (kind, path, page) => {
    if (!allows('GET', path)) return [];
    const query = { filters, limit: 5, ...(kind === 'Stream' && { streamsonly: 1 }) };
    const rows = await call('GET', `/api/${path}`, { query, signal }).catch(() => []);
    return rows.map(({ id, name }) => ({ title: name, kind, run: () => go(`/dashboard/${page}/${id}`) }));
  };
  return (await Promise.all([of('Stream', 'stream', 'stream'), of('Asset', 'asset', 'asset')])).flat();
}
