import { createHash } from 'node:crypto';
import type { Place } from '../ports/store.ts';
import { invalidQuery } from './query.ts';

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
