import { expect, test } from 'vitest';
import { ViewerCount } from '../../runtime/media/broadcast/viewer-count.ts';

const now = Date.UTC(2026, 0, 1);
const seen = (many: number, options: { from?: number; count?: ViewerCount; at?: number } = {}) => {
  const { from = 0, count = new ViewerCount({ seed: 1 }), at = now } = options;
  for (let index = from; index < from + many; index += 1) count.saw(`10.0.0.1\n\nplayer ${index}`, at);
  return count;
};

test.each([0, 1, 2, 3, 5, 10, 20])('%i viewers are counted as they are', (many) => {
  expect(seen(many).count(now)).toBe(many);
});

test.each([100, 1000, 5000, 10_000, 12_000, 50_000, 1_000_000])('%i viewers within 5 %', (many) => {
  const count = seen(many);
  expect(Math.abs(count.count(now) - many)).toBeLessThanOrEqual(many * 0.05);
});

test('a million made-up viewers take no more memory than a thousand', () => {
  const count = seen(1000);
  const { bytes } = count;
  seen(1_000_000, { count });
  for (let second = 1; second <= 100; second += 1) {
    seen(100, { count, from: second * 100, at: now + second * 1000 });
    expect(count.bytes).toBeLessThanOrEqual(4 * 4096);
  }
  expect(bytes).toBe(2 * 4096);
});

test('who is seen again is the same, in every slice of time', () => {
  const count = new ViewerCount({ seed: 1 });
  for (let at = 0; at < 60_000; at += 300) seen(10, { count, at: now + at });
  expect(count.count(now + 60_000)).toBe(10);
});

test('who asks every 12 s stays counted, and who leaves is gone after 24 s', () => {
  const count = new ViewerCount({ seed: 1 });
  for (let at = 0; at < 120_000; at += 1000) {
    if (at % 12_000 === 0) seen(5, { count, at: now + at });
    expect(count.count(now + at)).toBe(5);
  }
  const left = now + 108_000;
  expect(count.count(left + 15_999)).toBe(5);
  expect(count.count(left + 24_000)).toBe(0);
  expect(count.bytes).toBe(0);
});

test('another process makes other hashes of the same viewers', () => {
  const counts = Array.from({ length: 50 }, (_, seed) =>
    seen(300, { count: new ViewerCount({ seed }) }).count(now),
  );
  expect(new Set(counts).size).toBeGreaterThan(5);
  for (const count of counts) expect(Math.abs(count - 300)).toBeLessThan(30);
});

test('it keeps nothing of a viewer but numbers of at most 21', () => {
  const count = seen(1000);
  expect(JSON.stringify(count)).toBe('{}');
  expect(count.count(now)).toBeGreaterThan(0);
});
