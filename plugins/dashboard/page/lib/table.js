import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { html } from './html.js';
import { go, place, withQuery } from './place.js';
import { store, stored } from './stored.js';

/** Rows up to which all of a table are in the page; of longer ones those near what the reader sees. */
const mostWhole = 200;
/** Rows beyond both edges of the window that are there already. */
const margin = 16;
/** Height of a row until one was measured, px: as in style/lists.css. */
const usualHeight = 32;

/**
 * Rows of a list. `columns`: `{title, cell(row), order?, isEnd?, isLink?}`; the first has the link to the page of a row, or that with `isLink`. `order`: what they are sorted by, as in the URL. `chosen`: id of the
 * open one. `selection`: of `useSelection`; absent: none can be selected. `label`: a name, for a table that is no list of the API.
 */
export function Table({ rows, columns, hrefOf, chosen, order = '', selection, label }) {
  const table = useRef();
  const { from, to, above, below } = useShown(table, rows.length);
  const isPart = rows.length > mostWhole;
  useFixedColumns(table, { isPart, key: columns.map(({ title }) => title).join() });
  const all = selection ? [checkColumn(selection, rows), ...columns] : columns;
  const spacer = (height) =>
    height > 0 &&
    html`<tr class="spacer" aria-hidden="true"><td colspan=${all.length} style=${{ height: `${height}px` }}></td></tr>`;
  // Of the column that leads to the page of a row.
  const link =
    Math.max(
      0,
      columns.findIndex(({ isLink }) => isLink),
    ) + (selection ? 1 : 0);
  return html`<table class="list" ref=${table} aria-label=${label} aria-rowcount=${isPart ? rows.length + 1 : undefined}>
    <thead>
      <tr>${all.map((column) => html`<${Title} ...${column} now=${order} />`)}</tr>
    </thead>
    <tbody>
      ${spacer(above)}
      ${rows.slice(from, to).map(
        (row, index) => html`<tr
          key=${row.id}
          tabindex="-1"
          class=${`${chosen === row.id ? 'chosen' : ''} ${selection?.has(row.id) ? 'selected' : ''}`}
          aria-rowindex=${isPart ? from + index + 2 : undefined}
          data-href=${hrefOf?.(row)}
          data-id=${row.id}
        >
          ${all.map(
            ({ cell, isEnd, className = '' }, at) => html`<td class=${`${isEnd ? 'end' : ''} ${className}`}>
              ${at === link && hrefOf ? html`<a class="fill" href=${hrefOf(row)}>${cell(row)}</a>` : cell(row)}
            </td>`,
          )}
        </tr>`,
      )}
      ${spacer(below)}
    </tbody>
  </table>`;
}

function checkColumn(selection, rows) {
  const isAll = rows.every(({ id }) => selection.has(id));
  const toggleAll = () => selection.set(isAll ? [] : rows.map(({ id }) => id));
  return {
    className: 'check',
    head: html`<input type="checkbox" class="tick" aria-label="Select all of this page" checked=${isAll} onChange=${toggleAll} />`,
    cell: (row) => html`<${Check} row=${row} selection=${selection} />`,
  };
}

/** Selects one row. */
export function Check({ row, selection }) {
  return html`<input
    type="checkbox"
    class="tick"
    aria-label=${`Select ${row.name}`}
    checked=${selection.has(row.id)}
    onChange=${() => selection.toggle(row.id)}
  />`;
}

function Title({ title, order, now, isEnd, head, className = '' }) {
  if (head) return html`<th class=${className}>${head}</th>`;
  if (!order) return html`<th class=${isEnd ? 'end' : ''}>${title}</th>`;
  const [field, isDown] = now.split('-');
  const isOn = field === order;
  const next = !isOn ? `${order}-true` : isDown === 'true' ? `${order}-false` : undefined;
  const sorted = isOn ? (isDown === 'true' ? 'descending' : 'ascending') : undefined;
  return html`<th class=${isEnd ? 'end' : ''} aria-sort=${sorted}>
    <button type="button" onClick=${() => go(withQuery({ order: next, cursor: undefined }))}>
      ${title} ${isOn ? (isDown === 'true' ? '↓' : '↑') : ''}
    </button>
  </th>`;
}

/** Which rows of a long table are near the window, and the heights of what is left out above and below. */
function useShown(table, count) {
  const [first, setFirst] = useState(0);
  const [height, setHeight] = useState(usualHeight);
  const isPart = count > mostWhole;
  useLayoutEffect(() => {
    if (!isPart) return undefined;
    let frame;
    const look = () => {
      frame = undefined;
      const body = table.current?.tBodies[0];
      if (!body) return;
      const measured = body.querySelector('tr:not(.spacer)')?.getBoundingClientRect().height || usualHeight;
      setHeight(measured);
      const seen = Math.floor(-body.getBoundingClientRect().top / measured) - margin;
      // In steps: not each pixel draws the table anew.
      const step = Math.max(0, Math.floor(seen / (margin / 2)) * (margin / 2));
      setFirst(Math.min(step, count - 1));
    };
    const later = () => {
      frame ??= requestAnimationFrame(look);
    };
    look();
    addEventListener('scroll', later, { passive: true });
    addEventListener('resize', later);
    return () => {
      cancelAnimationFrame(frame);
      removeEventListener('scroll', later);
      removeEventListener('resize', later);
    };
  }, [isPart, count]);
  if (!isPart) return { from: 0, to: count, above: 0, below: 0 };
  const from = Math.min(first, count - 1);
  const to = Math.min(count, from + Math.ceil(innerHeight / height) + 2.5 * margin);
  return { from, to, above: from * height, below: (count - to) * height };
}

/** Columns of a table of which only a part is there keep their width when other rows come. */
function useFixedColumns(table, { isPart, key }) {
  useLayoutEffect(() => {
    if (!isPart) return undefined;
    const fix = () => {
      const element = table.current;
      if (!element) return;
      const titles = [...element.tHead.rows[0].cells];
      element.style.tableLayout = '';
      for (const title of titles) title.style.width = '';
      const widths = titles.map((title) => title.offsetWidth);
      for (const [at, title] of titles.entries()) title.style.width = `${widths[at]}px`;
      element.style.tableLayout = 'fixed';
    };
    fix();
    addEventListener('resize', fix);
    return () => {
      removeEventListener('resize', fix);
      if (!table.current) return;
      table.current.style.tableLayout = '';
      for (const title of table.current.tHead.rows[0].cells) title.style.width = '';
    };
  }, [isPart, key]);
}

/** `j` and `k` move through the rows, Enter opens one, `x` selects it where rows can be selected. */
export function rowKeys(box, selection) {
  const move = (event) => {
    if (event.defaultPrevented || isTyping(event) || event.metaKey || event.ctrlKey || event.altKey) return;
    if (!['j', 'k', 'x', 'Enter'].includes(event.key)) return;
    const rows = [...(box.current?.querySelectorAll('[data-href], [data-id]') ?? [])];
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    if (event.key === 'x') {
      if (at >= 0) selection?.toggle(rows[at].dataset.id);
      return;
    }
    if (event.key === 'Enter') {
      const isRow = rows[at] === document.activeElement;
      if (isRow && rows[at].tagName !== 'A' && rows[at].dataset.href) go(rows[at].dataset.href);
      return;
    }
    const to = event.key === 'j' ? Math.min(at + 1, rows.length - 1) : Math.max(at - 1, 0);
    rows[to]?.focus();
  };
  addEventListener('keydown', move);
  return () => removeEventListener('keydown', move);
}

/** Whether a key was meant for a field. Keys that a tick box does not know are not. */
export function isTyping({ target }) {
  return target.closest?.('input:not([type=checkbox]), textarea, select, [contenteditable], video') !== null;
}

/** Columns that this reader has hidden in a list, by their titles; remembered in this browser. */
export function useColumns(list, columns) {
  const name = `millrace.columns.${list}`;
  const [hidden, setHidden] = useState(() => new Set(stored(name, [])));
  const set = (title, isShown) => {
    const next = new Set(hidden);
    if (isShown) next.delete(title);
    else next.add(title);
    store(name, [...next]);
    setHidden(next);
  };
  return { shown: columns.filter(({ title }) => !hidden.has(title)), hidden, set };
}

/** The first column names the row, and one without a title has what can be done with it: both stay. */
export function ColumnChoice({ columns, hidden, set }) {
  const known = columns.slice(1).filter(({ title }) => title !== '');
  const leave = ({ currentTarget, relatedTarget }) => {
    if (!currentTarget.contains(relatedTarget)) currentTarget.open = false;
  };
  const press = (event) => {
    if (event.key !== 'Escape' || !event.currentTarget.open) return;
    event.stopPropagation();
    event.currentTarget.open = false;
    event.currentTarget.firstElementChild.focus();
  };
  return html`<details class="choice-of-columns" onFocusOut=${leave} onKeyDown=${press}>
    <summary class="button">Columns</summary>
    <div class="card stack tight" tabindex="-1">
      ${known.map(
        ({ title }) => html`<label class="row">
          <input type="checkbox" checked=${!hidden.has(title)} onChange=${({ target }) => set(title, target.checked)} /> ${title}
        </label>`,
      )}
    </div>
  </details>`;
}

/** Sorts what has no titles to click, such as tiles. */
export function SortChoice({ columns, order }) {
  const known = columns.filter((column) => column.order);
  const options = known.flatMap(({ title, order: field }) => [
    [`${field}-false`, `${title}, upwards`],
    [`${field}-true`, `${title}, downwards`],
  ]);
  const set = ({ target }) => go(withQuery({ order: target.value, cursor: undefined }));
  return html`<select aria-label="Sort" value=${order} onChange=${set}>
    <option value="">Sort: newest first</option>
    ${options.map(([value, text]) => html`<option value=${value}>Sort: ${text}</option>`)}
  </select>`;
}

const sizes = [50, 200, 1000];

/** Rows of a page: of the URL, or as chosen last in this browser. `most`: of what is heavier than a row. */
export function pageSize({ most = 1000 } = {}) {
  const wanted = Number(place.value.query.get('rows') ?? localStorage.getItem('millrace.rows'));
  return Math.min(sizes.includes(wanted) ? wanted : sizes[0], most);
}

export function SizeChoice({ most = 1000 }) {
  const set = ({ target }) => {
    localStorage.setItem('millrace.rows', target.value);
    go(withQuery({ rows: target.value, cursor: undefined }), { replace: true });
  };
  return html`<select aria-label="Rows of a page" value=${String(pageSize({ most }))} onChange=${set}>
    ${sizes.filter((size) => size <= most).map((size) => html`<option value=${String(size)}>${size} a page</option>`)}
  </select>`;
}
