import { useEffect, useRef } from 'preact/hooks';
import { allows, callWhole } from './api.js';
import { deletionProblem, leaving } from './deletion.js';
import { pluginColumns } from './extensions.js';
import { html } from './html.js';
import { useLoad } from './load.js';
import { Bones, Problem } from './parts.js';
import { go, place, withQuery } from './place.js';
import { SelectionBar, useSelection } from './selection.js';
import { ColumnChoice, pageSize, rowKeys, SizeChoice, SortChoice, Table, useColumns } from './table.js';

/** A page of more rows is loaded again less often, ms. */
const longPage = 200;
const calm = 10_000;
/** Tiles of a page at most: each has a picture. */
const mostTiles = 200;

/**
 * A list of the API as a table. Filters, order, page and its size are in the URL; which columns are shown is remembered.
 *
 * - `path`: of the API. `query`: what every page of it is asked with.
 * - `columns`: `{title, cell(row), order?, isEnd?}`; `order` names the field that it can be sorted by.
 * - `filters`: `{id, title, options?: [value, title][]}`; without options it is a text that the field contains.
 * - `hrefOf(row)`: the page of a row. `on(event)`: whether an event changes the list. `empty`: shown when nothing is there at all.
 * - `view(rows, selection)`: in place of the table. `turn`: another value loads the list again.
 * - `remove`: what deletes selected rows (`SelectionBar`). Without it none can be selected.
 */
export function List({ path, query = {}, filters = [], on, every, empty, view, turn, remove, ...table }) {
  const { hrefOf } = table;
  const { query: url } = place.value;
  const order = url.get('order') ?? '';
  const cursor = url.get('cursor') ?? '';
  const wanted = filters.map(({ id }) => url.get(`filter.${id}`) ?? '');
  const most = view ? mostTiles : undefined;
  const asked = {
    ...query,
    limit: pageSize({ most }),
    count: 1,
    ...(order && { order }),
    ...(cursor && { cursor }),
    ...(wanted.some((value) => value !== '') && { filters: filtersOf(filters, wanted) }),
  };
  const { data, error, isLoading, reload } = useLoad(() => callWhole('GET', path, { query: asked }), {
    deps: [path, JSON.stringify(asked), turn],
    on,
    ...(asked.limit > longPage ? { every: every && Math.max(every, calm), gather: calm } : { every }),
  });
  const columns = [...table.columns, ...pluginColumns(path)];
  const choice = useColumns(path.replace(/[\da-f-]{36}/g, ':id'), columns);
  const selection = useSelection();
  const canSelect = remove !== undefined && allows('DELETE', `${path.slice('/api/'.length)}/:id`);
  const box = useRef();
  useEffect(() => rowKeys(box, canSelect ? selection : undefined), [canSelect]);

  const isNarrowed = cursor !== '' || wanted.some((value) => value !== '');
  if (data && data.body.length === 0 && !isNarrowed && empty) return empty;
  const rows = data?.body.filter(({ id }) => !leaving.value.has(id));
  const next = data?.next?.searchParams.get('cursor');
  const ticks = canSelect ? selection : undefined;
  return html`<div>
    <div class="filters" role="search">
      ${filters.map((filter, index) => html`<${Filter} ...${filter} value=${wanted[index]} isFirst=${index === 0} />`)}
      ${view ? html`<${SortChoice} columns=${columns} order=${order} />` : html`<${ColumnChoice} columns=${columns} ...${choice} />`}
    </div>
    <${Problem} text=${error ?? deletionProblem.value} />
    ${canSelect && rows && html`<${SelectionBar} rows=${rows} selection=${selection} remove=${remove} onDone=${reload} />`}
    ${data === undefined && isLoading && html`<${Bones} rows=${6} />`}
    <div class="scroll" ref=${box} tabindex=${hrefOf ? undefined : 0}>
      ${rows?.length > 0 && (view ? view(rows, ticks) : html`<${Table} ...${table} columns=${choice.shown} rows=${rows} order=${order} selection=${ticks} />`)}
    </div>
    ${!data && error && url.size > 0 && html`<p><a href=${location.pathname}>Show all</a></p>`}
    ${data?.body.length === 0 && html`<p class="muted">Nothing fits. <a href=${location.pathname}>Show all</a></p>`}
    ${data && html`<${Foot} count=${data.count} cursor=${cursor} next=${next} most=${most} />`}
  </div>`;
}

function Foot({ count, cursor, next, most }) {
  const isLong = next || cursor || count > pageSize({ most: 50 });
  return html`<p class="row foot">
    <span class="muted">${count === undefined ? '' : `${count} in all`}</span>
    ${cursor && html`<a class="button" href=${withQuery({ cursor: undefined })}>First page</a>`}
    ${next && html`<a class="button" rel="next" href=${withQuery({ cursor: next })}>Next page</a>`}
    ${isLong && html`<${SizeChoice} most=${most} />`}
  </p>`;
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
