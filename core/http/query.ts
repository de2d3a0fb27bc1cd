import { Fault } from '../base/fault.ts';

/** 422 `query.invalid`: each problem names its parameter and what was expected. */
export function invalidQuery(problem: string): Fault {
  return new Fault('query.invalid', { status: 422, message: problem });
}

/** `name=1` or `true`, `name=0` or `false`; undefined when absent. Throws 422 `query.invalid`. */
export function flagOf(query: URLSearchParams, name: string): boolean | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (text === '1' || text === 'true') return true;
  if (text === '0' || text === 'false') return false;
  throw invalidQuery(`${name}: expected 1 or 0`);
}

/** Rows of one page of a list. */
export const maxPage = 1000;

/** `limit` of a list request: default 20, 1..1000. Throws 422 `query.invalid`. */
export function limitOf(query: URLSearchParams): number {
  const text = query.get('limit');
  if (text === null) return 20;
  const limit = Number(text);
  if (/^\d+$/.test(text) && limit >= 1 && limit <= maxPage) return limit;
  throw invalidQuery(`limit: expected a whole number from 1 to ${maxPage}`);
}
