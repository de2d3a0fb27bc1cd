import { expect, test } from 'vitest';
import { WindowCounts } from '../../runtime/media/rtmp/window-count.ts';

test('each key has so many in a window, and there are so many keys', () => {
  const counts = new WindowCounts({ most: 2, window: 1000, keys: 2 });
  const admit = (keys: string, now: number) => [...keys].map((key) => counts.admit(key, now));
  expect(admit('aaabbbccab', 5000)).toEqual([
    true,
    true,
    false,
    true,
    true,
    false,
    false,
    false,
    false,
    false,
  ]);
  expect(admit('c', 5999)).toEqual([false]);
  expect(admit('cca', 6000)).toEqual([true, true, true]);
});
