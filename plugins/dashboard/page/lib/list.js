import { useEffect, useRef } from 'preact/hooks';
import { callWhole } from './api.js';
import { deletionProblem, leaving } from './deletion.js';
import { pluginColumns } from './extensions.js';
import { html } from './html.js';
import { useLoad } from './load.js';
import { Bones, Problem } from './parts.js';
import { go, place, withQuery } from './place.js';

/** Rows of one page of a list. */
const pageSize = 50;

/**
 * A list of the API as a table. Filters, order and page are in the URL.
 *
 * - `path`: of the API. `query`: what every page of it is asked with.
 * - `columns`: `{title, cell(row), order?, isEnd?}`; `order` names the field that it can be sorted by.
 * - `filters`: `{id, title, options?: [value, title][]}`; without options it is a text that the field contains.
 * - `hrefOf(row)`: the page of a row. `on(event)`: whether an event changes the list. `empty`: shown when nothing is there at all.
 * - `view(rows)`: in place of the table. `turn`: another value loads the list again.
 */
export function List({ path, query = {}, filters = [], hrefOf, on, every, empty, view, turn, ...table }) {
  const { query: url } = place.value;
  const order = url.get('order') ?? '';
  const cursor = url.get('cursor') ?? '';
  const wanted = filters.map(({ id }) => url.get(`filter.${id}`) ?? '');
  const asked = {
    ...query,
    limit: pageSize,
    count: 1,
    ...(order && { order }),
    ...(cursor && { cursor }),
    ...(wanted.some((value) => value !== '') && { filters: filtersOf(filters, wanted) }),
  };
  const { data, error, isLoading } = useLoad(() => callWhole('GET', path, { query: asked }), {
    deps: [path, JSON.stringify(asked), turn],
    on,
    every,
  });
  const box = useRef();
  useEffect(() => rowKeys(box), []);

  const isNarrowed = cursor !== '' || wanted.some((value) => value !== '');
  if (data && data.body.length === 0 && !isNarrowed && empty) return empty;
  const rows = data?.body.filter(({ id }) => !leaving.value.has(id));
  const next = data?.next?.searchParams.get('cursor');
  return html`<div>
    ${
      filters.length > 0 &&
      html`<div class="filters" role="search">
      ${filters.map((filter, index) => html`<${Filter} ...${filter} value=${wanted[index]} isFirst=${index === 0} />`)}
    </div>`
    }
    <${Problem} text=${error ?? deletionProblem.value} />
    ${data === undefined && isLoading && html`<${Bones} rows=${6} />`}
    <div class="scroll" ref=${box} tabindex=${hrefOf ? undefined : 0}>
      ${rows?.length > 0 && (view ? view(rows) : html`<${Table} ...${table} columns=${[...table.columns, ...pluginColumns(path)]} rows=${rows} hrefOf=${hrefOf} order=${order} />`)}
    </div>
    ${!data && error && url.size > 0 && html`<p><a href=${location.pathname}>Show all</a></p>`}
    ${data?.body.length === 0 && html`<p class="muted">Nothing fits. <a href=${location.pathname}>Show all</a></p>`}
    ${
      data &&
      html`<p class="row foot">
      <span class="muted">${data.count === undefined ? '' : `${data.count} in all`}</span>
      ${cursor && html`<a class="button" href=${withQuery({ cursor: undefined })}>First page</a>`}
      ${next && html`<a class="button" rel="next" href=${withQuery({ cursor: next })}>Next page</a>`}
    </p>`
    }
  </div>`;
}

function Table({ rows, columns, hrefOf, onRow, chosen, order }) {
  return html`<table class="list">
    <thead>
      <tr>
        ${columns.map((column) => html`<${Title} ...${column} now=${order} />`)}
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        (
          row,
        ) => html`<tr key=${row.id} tabindex="-1" class=${chosen === row.id ? 'chosen' : ''} data-href=${hrefOf?.(row)} onClick=${onRow && (() => onRow(row))}>
          ${columns.map(
            ({ cell, isEnd }, index) => html`<td class=${isEnd ? 'end' : ''}>
              ${index === 0 && hrefOf ? html`<a class="fill" href=${hrefOf(row)}>${cell(row)}</a>` : cell(row)}
            </td>`,
          )}
        </tr>`,
      )}
    </tbody>
  </table>`;
}

function filtersOf(filters, wanted) {
  return JSON.stringify(
    filters.flatMap(({ id, options }, index) => {
      const value = wanted[index];
      if (value === '') return [];
      return [{ id, value: options && (value === 'true' || value === 'false') ? value === 'true' : value }];
    }),
  );
}

function Filter({ id, title, options, value, isFirst }) {
  const set = (text) => go(withQuery({ [`filter.${id}`]: text, cursor: undefined }), { replace: true });
  if (options)
    return html`<select aria-label=${title} value=${value} onChange=${({ target }) => set(target.value)}>
      <option value="">${title}: all</option>
      ${options.map(([of, text]) => html`<option value=${of}>${title}: ${text}</option>`)}
    </select>`;
  let timer;
  const later = ({ target }) => {
    clearTimeout(timer);
    timer = setTimeout(() => set(target.value), 250);
  };
  return html`<input type="search" aria-label=${title} placeholder=${title} value=${value} data-filter=${isFirst ? '' : undefined} onInput=${later} />`;
}

function Title({ title, order, now, isEnd }) {
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

/** `j` and `k` move through the rows, Enter opens one. */
function rowKeys(box) {
  const move = (event) => {
    if (event.defaultPrevented || isTyping(event) || event.metaKey || event.ctrlKey) return;
    if (!['j', 'k', 'Enter'].includes(event.key)) return;
    const rows = [...(box.current?.querySelectorAll('[data-href]') ?? [])];
    const at = rows.indexOf(document.activeElement);
    if (event.key === 'Enter') {
      if (at >= 0 && rows[at].tagName !== 'A') go(rows[at].dataset.href);
      return;
    }
    const to = event.key === 'j' ? Math.min(at + 1, rows.length - 1) : Math.max(at - 1, 0);
    rows[to]?.focus();
  };
  addEventListener('keydown', move);
  return () => removeEventListener('keydown', move);
}

/** Whether a key was meant for a field. */
export function isTyping({ target }) {
  return target.closest?.('input, textarea, select, [contenteditable], video') !== null;
}
