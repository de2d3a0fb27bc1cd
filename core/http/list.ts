import { createHash } from 'node:crypto';
import { type TSchema, Type } from '@sinclair/typebox';
import { maxNameLength } from '../base/name.ts';
import { didYouMean, nearMiss } from '../base/near-miss.ts';
import type { Filter, ListQuery, OrderTerm, Place, ResourceReader, StoredResource } from '../ports/store.ts';
import type { Caller } from './caller.ts';
import { listPlace } from './list-places.ts';
import { type Answer, flagSchema, json, type Parameters } from './operation.ts';
import {
  type FilterField,
  filterSchema,
  filtersOf,
  flagOf,
  invalidQuery,
  limitOf,
  maxPage,
} from './query.ts';
import { rowsAnswer } from './rows-answer.ts';

/** What is to be known of a resource to list it. */
export interface ListedResource {
  readonly kind: string;
  /** The fields that `filters` may name. */
  readonly fields: Readonly<Record<string, FilterField>>;
  /** Who asks: the link to the next page begins with their base URL. */
  readonly caller: (request: Request) => Caller;
  readonly resources: ResourceReader;
  /** Query parameters of its routes on top of those that all lists have. */
  readonly parameters?: readonly string[];
}

/** Parameters that the link to the next page repeats. An unknown one may be a misplaced key. */
const common = ['limit', 'order', 'filters', 'name', 'count'];

/** What one route lists of it. */
export interface ListScopeOfRoute {
  readonly account?: string;
  readonly where?: Readonly<Record<string, string>>;
  /** On top of those in the query. */
  readonly filters?: readonly Filter[];
  /** A row as it is shown, or a promise of it; the rows of a page are presented at the same time. */
  readonly present: (row: StoredResource, caller: Caller) => unknown;
}

/**
 * Answers list requests, alike for every resource: `limit`, `cursor`, `order`, `filters`, `name`, `count`; the body
 * is the bare array, `Link` leads to the next page when there is one, `X-Total-Count` says how many there are.
 * Pages go by key: a row that was there throughout is on one page exactly, whatever comes and goes meanwhile.
 * Throws 422 `query.invalid`.
 */
export function resourceList(resource: ListedResource) {
  return async (request: Request, scope: ListScopeOfRoute): Promise<Response> => {
    const url = new URL(request.url);
    const caller = resource.caller(request);
    const query = url.searchParams;
    const limit = limitOf(query);
    const sorting = sortingOf(query);
    const list = `${resource.kind} ${JSON.stringify(sorting)}`;
    const cursor = query.get('cursor');
    const passedOn = new Set<string>([...common, ...(resource.parameters ?? [])]);
    refuseMisspelt(query, new Set([...passedOn, 'cursor']));
    const after = cursor === null ? undefined : placeOf(cursor, list);
    if (after && needsName(sorting) && after.name === undefined) throw invalidQuery('cursor: incomplete');
    const { account } = scope;
    const wanted = filtersOf(query, resource.fields);
    const where = { ...wanted.where, ...scope.where };
    const filters = [...(wanted.filters ?? []), ...(scope.filters ?? [])];
    const isCounted = flagOf(query, 'count') ?? false;
    const within = { account, where, filters };
    const answer = async (sent?: () => void): Promise<Response> => {
      const rows = await resource.resources.list(resource.kind, {
        ...within,
        ...sorting,
        ...(after && { after }),
        limit: limit + 1,
        characters: maxCharacters,
      });
      const page = pageOf(rows, limit);
      const headers = new Headers();
      const last = page.at(-1);
      if (last && rows.length > page.length) {
        const next = new URLSearchParams();
        for (const name of passedOn) if (query.has(name)) next.set(name, query.get(name) as string);
        next.set('cursor', cursorOf(placeAt(last, sorting), list));
        headers.set('link', `<${caller.baseUrl}${url.pathname}?${next}>; rel="next"`);
      }
      if (isCounted) {
        headers.set('x-total-count', String(await resource.resources.count(resource.kind, within)));
      }
      const present = (row: StoredResource) => scope.present(row, caller);
      return rowsAnswer(page, { account: account ?? '', headers, present, ...(sent && { sent }) });
    };
    const isLong = limit > longPage || isCounted || filters.length > 0 || sorting.likeName !== undefined;
    const place = { account: account ?? '', signal: request.signal };
    return isLong
      ? inPlace(answer, { ...place, kind: 'long' })
      : inPlace(() => answer(), { ...place, kind: 'short' });
  };
}

/** Rows of a page beyond which it is a long list. */
const longPage = 20;
/** Characters of the documents of a page: beyond, it ends early. A thousand of common size have some 2 million. */
const maxCharacters = 8_388_608;

/** The rows of a page; what is left tells that another follows. */
function pageOf(rows: readonly StoredResource[], limit: number): readonly StoredResource[] {
  let characters = 0;
  const most = rows.findIndex(({ body }, index) => {
    characters += body.length;
    return index > 0 && characters > maxCharacters;
  });
  return rows.slice(0, most === -1 ? limit : Math.min(limit, most));
}

/** Makes the answer in a place, which a large answer to a long list keeps until it was sent. */
async function inPlace(
  answer: (sent: () => void) => Promise<Response>,
  { account, ...place }: { account: string; kind: 'long' | 'short'; signal: AbortSignal },
): Promise<Response> {
  const leave = await listPlace(account, place);
  try {
    const made = await answer(leave);
    if (place.kind === 'short' || !made.headers.has('content-length')) leave();
    return made;
  } catch (error) {
    leave();
    throw error;
  }
}

/** The query parameters of every list, for `says`. */
export function listParameters(fields: ListedResource['fields']): Parameters {
  const names = orderable.join('|');
  const once = orderable.map((name) => `(?!.*${name}-.*${name}-)`).join('');
  return {
    limit: Type.Integer({
      minimum: 1,
      maximum: maxPage,
      default: 20,
      description: 'Rows of one page.',
    }),
    cursor: Type.String({
      description:
        'Start of the page, from the `Link` of the page before; only for the same list in the same order.',
    }),
    order: Type.String({
      pattern: `^${once}(${names})-(true|false)(,(${names})-(true|false))*$`,
      description:
        'Fields with `-true` (descending) or `-false`, separated by commas. Cannot be combined with `name`.',
      examples: ['createdAt-true,name-false'],
    }),
    name: Type.String({
      description: '`asc` or `desc` sorts by name; any other text ranks names by similarity to it.',
      examples: ['asc'],
    }),
    filters: filterSchema(fields),
    count: flagSchema('Adds `X-Total-Count`.'),
  };
}

/** The answer of every list, for `says`. */
export function listAnswer(row: TSchema): Answer {
  return json(Type.Array(row), 'One page, a bare array.', {
    Link: Type.String({ description: 'URL of the next page, if there is one: `<url>; rel="next"`.' }),
    'X-Total-Count': Type.Integer({ description: 'Rows on all pages; with `count=1`.' }),
  });
}

/** Unknown parameters are ignored, except misspelt ones: they would give another list than the client wants. */
function refuseMisspelt(query: URLSearchParams, known: ReadonlySet<string>): void {
  for (const name of query.keys()) {
    if (known.has(name)) continue;
    const meant = nearMiss(name, known);
    if (meant !== undefined) throw invalidQuery(`${name}: unknown parameter; did you mean ${meant}?`);
  }
}

type Sorting = Pick<ListQuery, 'order' | 'likeName'>;

/** `order` or `name` of a list request. */
function sortingOf(query: URLSearchParams): Sorting {
  const [order, name] = [query.get('order'), query.get('name')];
  if (order !== null && name !== null) throw invalidQuery('order: cannot be combined with name');
  if (order !== null) return { order: orderOf(order) };
  if (name === 'asc' || name === 'desc') return { order: [{ by: 'name', descending: name === 'desc' }] };
  if (name !== null && name.length > maxNameLength)
    throw invalidQuery(`name: expected at most ${maxNameLength} characters`);
  // No text is like every name.
  return name === null || name === '' ? {} : { likeName: name };
}

/** `field-true,field2-false`; true = descending. */
function orderOf(text: string): OrderTerm[] {
  const terms: OrderTerm[] = [];
  for (const part of text.split(',')) {
    const [, field = '', direction] = /^(.*)-(true|false)$/.exec(part) ?? [];
    if (!direction) throw invalidQuery('order: expected field-true (descending) or field-false, with commas');
    const by = orderable.find((name) => name === field);
    if (!by)
      throw invalidQuery(
        `order: lists cannot be ordered by ${field}; they can by ${orderable.join(', ')}${didYouMean(field, orderable)}`,
      );
    if (terms.some((term) => term.by === by)) throw invalidQuery(`order: ${field} is named twice`);
    terms.push({ by, descending: direction === 'true' });
  }
  return terms;
}

/** A row moves in the list when what it is ordered by changes: these do not, but for the name. */
const orderable = ['createdAt', 'name', 'id'] as const;

function needsName({ order, likeName }: Sorting): boolean {
  return likeName !== undefined || (order ?? []).some(({ by }) => by === 'name');
}

function placeAt({ createdAt, id, name }: StoredResource, sorting: Sorting): Place {
  return { createdAt, id, ...(needsName(sorting) && { name }) };
}

/** Characters; the longest that is given out holds a name of 500 characters. */
const maxCursor = 8192;

/**
 * Cursors of lists: the place of the last row of a page, for one order of one list. The mark in it catches what
 * was cut, changed, or meant for another order; it is no secret, and a place betrays nothing, because the
 * account of the caller bounds the list.
 */
export function cursorOf(place: Place, list: string): string {
  const values = [place.createdAt, place.id, ...(place.name === undefined ? [] : [place.name])];
  return Buffer.from(JSON.stringify([mark(values, list), ...values])).toString('base64url');
}

/** The place that a cursor of this list stands for. Throws 422 `query.invalid`. */
export function placeOf(cursor: string, list: string): Place {
  const values = cursor.length > maxCursor ? [] : parsed(cursor);
  const [given, createdAt, id, name] = values;
  const isPlace =
    values.length <= 4 &&
    given === mark(values.slice(1), list) &&
    Number.isSafeInteger(createdAt) &&
    typeof id === 'string' &&
    (name === undefined || typeof name === 'string');
  if (!isPlace)
    throw invalidQuery('cursor: expected one from the Link header of this list, in the same order');
  return {
    createdAt: createdAt as number,
    id: id as string,
    ...(name !== undefined && { name: name as string }),
  };
}

function parsed(cursor: string): unknown[] {
  try {
    const values: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(values) ? values : [];
  } catch {
    return [];
  }
}

function mark(values: readonly unknown[], list: string): string {
  const text = JSON.stringify([list, ...values]);
  return createHash('sha256').update(text).digest('base64url').slice(0, 10);
}
