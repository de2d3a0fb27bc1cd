import { useEffect, useState } from 'preact/hooks';
import { allows, callWhole, signOut } from './api.js';
import { entries, hrefOf, listOf } from './entries.js';
import { isLost } from './events.js';
import { hasField } from './extensions.js';
import { clockTime } from './format.js';
import { Help, paletteKey } from './help.js';
import { html } from './html.js';
import { icon } from './icons.js';
import { useLoad } from './load.js';
import { Palette } from './palette.js';
import { Dot, finishUndo, pageTitle, UndoBar } from './parts.js';
import { go, place, withQuery } from './place.js';
import { isTyping } from './table.js';
import { switchTheme } from './theme.js';

export function Frame({ more, children }) {
  const [isFolded, setFolded] = useState(localStorage.getItem('millrace.folded') === '1');
  // `palette` or `help`.
  const [open, setOpen] = useState();
  const own = entries.filter(
    ({ path, field }) => (!path || allows('GET', path)) && (!field || hasField(...field)),
  );
  const shown = [...own.filter(({ isLast }) => !isLast), ...more, ...own.filter(({ isLast }) => isLast)];
  useEffect(() => pageKeys(setOpen), []);
  const fold = () => {
    localStorage.setItem('millrace.folded', isFolded ? '' : '1');
    setFolded(!isFolded);
  };
  const first = place.value.path.split('/')[0];
  const current = listOf[first] ?? first;
  return html`<div class="frame ${isFolded ? 'folded' : ''} ${isLost.value ? 'is-lost' : ''}">
    <a class="skip" href="#page">To the page</a>
    <span class="hidden" role="status">${pageTitle.value}</span>
    ${isLost.value && html`<${Lost} />`}
    <nav class="rail" aria-label="Pages">
      <a class="brand" href="/">${icon('wheel')}<span>Millrace</span></a>
      ${shown.map(
        ({ id, title, isWide }) => html`<a
          class="entry ${isWide ? 'wide' : ''}"
          href=${hrefOf(id)}
          title=${title}
          aria-current=${id === current ? 'page' : undefined}
        >
          ${icon(id || 'home')}<span>${title}</span>
        </a>`,
      )}
      <button class="entry narrow" type="button" onClick=${() => setOpen('palette')}>${icon('more')}<span>More</span></button>
      <div class="gap"></div>
      <a class="entry wide" href="/docs/guides" target="_blank" title="Guides">${icon('guides')}<span>Guides</span></a>
      <a class="entry wide" href="/docs" target="_blank" title="API reference">${icon('docs')}<span>API reference</span></a>
      <button class="entry wide" type="button" onClick=${switchTheme} title="Light or dark">${icon('theme')}<span>Light or dark</span></button>
      <button class="entry wide" type="button" onClick=${() => signOut(finishUndo())} title="Sign out">${icon('out')}<span>Sign out</span></button>
      <button class="entry wide" type="button" onClick=${fold} title="Fold">${icon('fold')}<span>Fold</span></button>
    </nav>
    <header class="bar">
      <button class="search" type="button" onClick=${() => setOpen('palette')}><span>Search or run a command</span> <kbd>${paletteKey}</kbd></button>
      <div class="end">
        ${allows('GET', 'stream') && html`<${OnAir} />`}
        ${allows('POST', 'stream') && html`<a class="button go-live-button" href="/dashboard/go-live">Go live</a>`}
      </div>
    </header>
    <main class="page" id="page" tabindex="-1">${children}</main>
    ${open === 'palette' && html`<${Palette} pages=${shown} onClose=${() => setOpen(undefined)} onHelp=${() => setOpen('help')} />`}
    ${open === 'help' && html`<${Help} onClose=${() => setOpen(undefined)} />`}
    <${UndoBar} />
  </div>`;
}

/** How many streams are on the air, on every page. */
function OnAir() {
  const query = { streamsonly: 1, active: 1, limit: 1, count: 1 };
  const { data } = useLoad(() => callWhole('GET', '/api/stream', { query }), {
    on: ({ event }) => event === 'stream.started' || event === 'stream.idle',
    every: 30_000,
  });
  if (!data?.count) return null;
  return html`<a class="on-air-count" href="/dashboard/streams?filter.isActive=true"><${Dot} kind="on-air">${data.count} on air<//></a>`;
}

function Lost() {
  const [since] = useState(Date.now);
  return html`<div class="lost" role="status">Reconnecting … What you see is from ${clockTime(since)}.</div>`;
}

/** Back to the list, or closes what is open beside one. */
function back() {
  const { path, query } = place.value;
  if (query.has('entry') || query.has('event')) return go(withQuery({ entry: undefined, event: undefined }));
  const list = listOf[path.split('/')[0]];
  if (list) go(hrefOf(list));
}

/** `⌘K` the palette, `?` the list of keys, `/` the filter of a list, `g` and a letter a page, Escape back. */
function pageKeys(open) {
  let isGoing = 0;
  const press = (event) => {
    if ((event.metaKey || event.ctrlKey) && event.key === 'k') {
      event.preventDefault();
      open('palette');
      return;
    }
    if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event)) return;
    if (document.querySelector('dialog[open]')) return;
    if (event.key === '?') return open('help');
    if (event.key === 'Escape') return back();
    if (event.key === '/') {
      const filter = document.querySelector('[data-filter]');
      if (!filter) return;
      event.preventDefault();
      filter.focus();
      return;
    }
    const entry = entries.find(({ letter }) => letter === event.key);
    if (entry && event.timeStamp - isGoing < 1000) {
      event.preventDefault();
      go(hrefOf(entry.id));
    }
    isGoing = event.key === 'g' ? event.timeStamp : 0;
  };
  addEventListener('keydown', press);
  return () => removeEventListener('keydown', press);
}
