import { entries } from './entries.js';
import { html } from './html.js';
import { Dialog } from './parts.js';

/** What opens the palette on this machine. */
export const paletteKey = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘K' : 'Ctrl K';

const keys = [
  [paletteKey, 'Search or run a command'],
  ['/', 'Filter the list'],
  ['j', 'Next row'],
  ['k', 'Previous row'],
  ['x', 'Select the row'],
  ['Enter', 'Open the row'],
  ['Esc', 'Close what is open, or back to the list'],
  ['?', 'This list'],
];

/** The keys of the dashboard. */
export function Help({ onClose }) {
  const pages = entries.map(({ letter, title }) => [`g ${letter}`, title]);
  return html`<${Dialog} title="Keys" onClose=${onClose}>
    <div class="key-columns">${[keys, pages].map(
      (part) => html`<dl class="facts">
        ${part.map(
          ([key, what]) =>
            html`<dt>${key.split(' ').map((one) => html`<kbd>${one}</kbd> `)}</dt><dd>${what}</dd>`,
        )}
      </dl>`,
    )}</div>
    <div><button class="button" type="button" onClick=${onClose}>Close</button></div>
  <//>`;
}
