import { httpDate } from '../base/http-date.ts';

/** What is to be known of something to say whether a client's copy of it is still good. */
export interface Validators {
  /** A strong entity tag, without its quotes. */
  readonly etag: string;
  /** Epoch ms, where it is known. It must never have changed twice within one second, or its date would be no strong validator. */
  readonly modified?: number;
}

/**
 * What the preconditions of a GET or HEAD come to, in the order of RFC 9110 §13.2.2. `failed`: 412; `unchanged`: 304, the client
 * has it.
 */
export function preconditions(
  headers: Headers,
  { etag, modified }: Validators,
): 'met' | 'failed' | 'unchanged' {
  const ifMatch = headers.get('if-match');
  if (ifMatch !== null) {
    if (!names(ifMatch, { etag, isStrong: true })) return 'failed';
  } else {
    const since = httpDate(headers.get('if-unmodified-since'));
    if (since !== undefined && modified !== undefined && wholeSecond(modified) > since) return 'failed';
  }
  const ifNoneMatch = headers.get('if-none-match');
  if (ifNoneMatch !== null) {
    return names(ifNoneMatch, { etag, isStrong: false }) ? 'unchanged' : 'met';
  }
  const since = httpDate(headers.get('if-modified-since'));
  const isOld = since !== undefined && modified !== undefined && wholeSecond(modified) <= since;
  return isOld ? 'unchanged' : 'met';
}

/** Whether `Range` counts: there is no `If-Range`, or it names just this version (RFC 9110 §13.1.5). */
export function mayBeRange(headers: Headers, { etag, modified }: Validators): boolean {
  const text = headers.get('if-range')?.trim();
  if (text === undefined) return true;
  return text === `"${etag}"` || (modified !== undefined && httpDate(text) === wholeSecond(modified));
}

/** Whether a list of entity tags has this one, or is `*` (RFC 9110 §8.8.3.2). What is not in quotes is none. */
function names(list: string, { etag, isStrong }: { etag: string; isStrong: boolean }): boolean {
  if (list.trim() === '*') return true;
  for (const [, weak, tag] of list.matchAll(entityTag)) {
    if (tag === etag && !(isStrong && weak !== undefined)) return true;
  }
  return false;
}

/** Of an HTTP date, ms. */
function wholeSecond(ms: number): number {
  return Math.floor(ms / 1000) * 1000;
}

const entityTag = /(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/g;
