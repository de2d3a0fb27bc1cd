import { useEffect, useState } from 'preact/hooks';
import { allows, signOut } from './api.js';
import { entries, hrefOf, listOf } from './entries.js';
import { isLost } from './events.js';
import { html } from './html.js';
import { icon } from './icons.js';
import { isTyping } from './list.js';
import { Palette } from './palette.js';
import { UndoBar } from './parts.js';
import { go, place } from './place.js';
import { switchTheme } from './theme.js';

export function Frame({ more, children }) {
  const [isFolded, setFolded] = useState(localStorage.getItem('millrace.folded') === '1');
  const [isSearching, setSearching] = useState(false);
  const own = entries.filter(({ path }) => path === undefined || allows('GET', path));
  const isLast = ({ id }) => id === 'keys' || id === 'system';
  const shown = [...own.filter((entry) => !isLast(entry)), ...more, ...own.filter(isLast)];
  useEffect(() => pageKeys(() => setSearching(true)), []);
  const fold = () => {
    localStorage.setItem('millrace.folded', isFolded ? '' : '1');
    setFolded(!isFolded);
  };
  const first = place.value.path.split('/')[0];
  const current = listOf[first] ?? first;
  return html`<div class="frame ${isFolded ? 'folded' : ''}">
    <a class="skip" href="#page">To the page</a>
    ${isLost.value && html`<div class="lost" role="status">Reconnecting … What you see may be old.</div>`}
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
      <div class="gap"></div>
      <a class="entry wide" href="/docs/guides" target="_blank" title="Guides">${icon('guides')}<span>Guides</span></a>
      <a class="entry wide" href="/docs" target="_blank" title="API reference">${icon('docs')}<span>API reference</span></a>
      <button class="entry wide" type="button" onClick=${switchTheme} title="Light or dark">${icon('theme')}<span>Light or dark</span></button>
      <button class="entry wide" type="button" onClick=${signOut} title="Sign out">${icon('out')}<span>Sign out</span></button>
      <button class="entry wide" type="button" onClick=${fold} title="Fold">${icon('fold')}<span>Fold</span></button>
    </nav>
    <header class="bar">
      <button class="search" type="button" onClick=${() => setSearching(true)}>Search or run a command <kbd>⌘K</kbd></button>
      <div class="end">
        ${allows('POST', 'stream') && html`<a class="button primary" href="/dashboard/go-live">Go live</a>`}
      </div>
    </header>
    <main class="page" id="page">${children}</main>
    ${isSearching && html`<${Palette} pages=${shown} onClose=${() => setSearching(false)} />`}
    <${UndoBar} />
  </div>`;
}

/** `⌘K` the palette, `/` the filter of a list, `g` and a letter a page. */
function pageKeys(search) {
  let isGoing = 0;
  const press = (event) => {
    if ((event.metaKey || event.ctrlKey) && event.key === 'k') {
      event.preventDefault();
      search();
      return;
    }
    if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event)) return;
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
