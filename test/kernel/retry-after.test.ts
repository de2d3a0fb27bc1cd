import { expect, it } from 'vitest';
import { retryAfter } from '../../core/base/http-date.ts';

const now = Date.UTC(2026, 10, 22, 8, 49, 30, 500);

it.each([
  ['0', 0],
  ['7', 7],
  ['007', 7],
  ['86400', 60],
  // RFC 9110 §10.2.3 names no bound.
  ['9'.repeat(400), 60],
  // The three forms of §5.6.7, of which the last two are obsolete and still to be read.
  ['Sun, 22 Nov 2026 08:49:37 GMT', 7],
  ['Sunday, 22-Nov-26 08:49:37 GMT', 7],
  ['Sun Nov 22 08:49:37 2026', 7],
  ['Thu Jan  1 00:00:00 1970', 0],
  ['Sunday, 06-Nov-94 08:49:37 GMT', 0],
  ['Sun, 22 Nov 2026 08:49:37 CET', undefined],
  ['2026-11-22T08:49:37Z', undefined],
  ['Sun, 99 Nov 2026 08:49:37 GMT', undefined],
  ['', undefined],
  ['soon', undefined],
  ['-5', undefined],
  ['1.5', undefined],
  ['1e3', undefined],
  [undefined, undefined],
])('Retry-After: %s', (text, seconds) => {
  expect(retryAfter(text, { now, most: 60_000 })).toBe(seconds);
});
