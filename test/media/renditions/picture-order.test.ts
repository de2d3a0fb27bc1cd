import { describe, expect, it } from 'vitest';
import { DEPENDS, INDEPENDENT, PICTURE_RUN } from '../../../runtime/media/mp4/fragment.ts';
import type { FragmentRun } from '../../../runtime/media/mp4/fragment-reader.ts';
import { LadderBroken } from '../../../runtime/media/renditions/ladder.ts';
import { PictureOrder } from '../../../runtime/media/renditions/live/picture-order.ts';

/** So many pictures from this number on, each shown `shift` ticks after it is decoded. */
function run(from: number, options: { count: number; shift?: number; isSync?: boolean }): FragmentRun {
  const { count, shift = 0, isSync = false } = options;
  const view = new DataView(new ArrayBuffer(count * 16));
  for (let row = 0; row < count; row += 1) {
    view.setUint32(row * 16, 100);
    view.setUint32(row * 16 + 4, 1);
    view.setUint32(row * 16 + 8, row === 0 && isSync ? INDEPENDENT : DEPENDS);
    view.setInt32(row * 16 + 12, shift);
  }
  return {
    track: 1,
    rows: { view, at: 0, count },
    flags: PICTURE_RUN & 0xffffff,
    defaults: { duration: 0, size: 0, flags: 0, entry: 1 },
    firstFlags: undefined,
    ...{ at: 0, dts: from * 100, ticks: count * 100, bytes: count },
  };
}

describe('the order of pictures', () => {
  it('goes on for ever while what is made is forgotten, with and without key frames', () => {
    for (const hasKeys of [true, false]) {
      const order = new PictureOrder();
      for (let from = 0; from < 150_000; from += 250) {
        const isSync = from === 0 || hasKeys;
        order.add(run(from, { count: 250, isSync }), { startsSegment: isSync });
        expect(order.find((from + 249) * 100)).toBe(true);
        expect(order.time).toBe((from + 249) * 100);
        order.forget((from + 250) * 100);
      }
    }
  });

  it('is broken by pictures that are all shown before their key frame, when none other follows', () => {
    const order = new PictureOrder();
    order.add(run(0, { count: 1, shift: 10_000_000, isSync: true }), { startsSegment: true });
    const add = () => {
      for (let from = 1; from < 150_000; from += 250) {
        order.add(run(from, { count: 250 }), { startsSegment: false });
        order.forget((from + 250) * 100);
      }
    };
    expect(add).toThrow(LadderBroken);
  });
});
