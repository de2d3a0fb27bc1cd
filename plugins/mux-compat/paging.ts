import type { Parameters } from '../../sdk/plugin.ts';
import { Type } from '../../sdk/plugin.ts';
import { type Api, invalid } from './api.ts';

const defaultLimit = 25;
const maxLimit = 100;
/** How far pages go: each is counted from the first object. */
export const maxOffset = 10_000;
/** Rows of one call of our own API. */
const batch = 1000;

export const pageParameters: Parameters = {
  limit: Type.Integer({
    minimum: 1,
    maximum: maxLimit,
    default: defaultLimit,
    description: 'Objects of one page.',
  }),
  page: Type.Integer({ minimum: 1, default: 1, description: 'Which page. One after the last is empty.' }),
};

export function limitOf(query: URLSearchParams): number {
  return whole(query, { name: 'limit', most: maxLimit }) ?? defaultLimit;
}

/** Where the page of a request begins. Fault `mux.invalid`. */
export function pageOf(request: Request): { readonly offset: number; readonly limit: number } {
  const query = new URL(request.url).searchParams;
  const limit = limitOf(query);
  const page = whole(query, { name: 'page', most: maxOffset }) ?? 1;
  const offset = (page - 1) * limit;
  if (offset + limit > maxOffset)
    throw invalid(`page: lists end after ${maxOffset} objects here; filter, or use a cursor`);
  return { offset, limit };
}

/** The rows of such a page of one of our lists. @param path with its query, without `limit` */
export async function rowsOf<T>(
  request: Request,
  { api, path }: { api: Api; path: string },
): Promise<readonly T[]> {
  const { offset, limit } = pageOf(request);
  const rows: T[] = [];
  let cursor: string | undefined;
  do {
    const query = new URLSearchParams({ limit: String(Math.min(batch, offset + limit - rows.length)) });
    if (cursor !== undefined) query.set('cursor', cursor);
    const page = await api.page<T>(`${path}${path.includes('?') ? '&' : '?'}${query}`);
    rows.push(...page.rows);
    cursor = page.cursor;
  } while (cursor !== undefined && rows.length < offset + limit);
  return rows.slice(offset, offset + limit);
}

function whole(query: URLSearchParams, { name, most }: { name: string; most: number }): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^\d{1,9}$/.test(text) || Number(text) < 1 || Number(text) > most)
    throw invalid(`${name}: expected a whole number from 1 to ${most}`);
  return Number(text);
}
