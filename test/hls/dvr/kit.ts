import type { IndexedInit, IndexedSegment } from '../../../core/vod/segment-index.ts';
import type { WrittenRecording } from '../../../runtime/media/recording/feed.ts';

export const origin = Date.UTC(2026, 10, 22, 10);
export const init: IndexedInit = {
  at: 0,
  size: 800,
  codecs: ['avc1.64001e', 'mp4a.40.2'],
  width: 640,
  height: 360,
  frameRate: 30,
};

/** A take of segments of two seconds, those in `runs` behind a discontinuity and with another init. */
export function takeOf(count: number, runs: readonly number[] = []) {
  let looked = 0;
  const take = {
    count,
    inits: [init, ...runs.map((_, index) => ({ ...init, at: 1000 * (index + 1) }))],
    segment(number: number): IndexedSegment {
      looked += 1;
      if (!(number >= 0 && number < take.count)) throw new RangeError(`there is no segment ${number}`);
      const place = { at: 10_000 * (number + 1), size: 500_000, duration: 2 };
      const isDiscontinuity = number === 0 || runs.includes(number);
      const ahead = runs.filter((run) => run <= number).length;
      return { ...place, wallStart: origin + number * 2000 + ahead * 5000, init: ahead, isDiscontinuity };
    },
    read: async () => undefined,
  };
  return { take: take as WrittenRecording & { count: number }, looked: () => looked };
}
