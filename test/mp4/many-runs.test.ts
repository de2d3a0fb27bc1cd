import { expect, test } from 'vitest';
import { readFragment } from '../../runtime/media/mp4/fragment-reader.ts';
import { box, full, join, u32 } from './build.ts';

test('a fragment of very many empty runs is refused before they take memory', () => {
  const runs = join(...Array.from({ length: 1000 }, () => full('trun', 0, 0, u32(0))));
  const traf = box('traf', full('tfhd', 0, 0, u32(1)), runs);
  const read = (trafs: number) => {
    const moof = box('moof', ...Array.from({ length: trafs }, () => traf));
    const view = new DataView(moof.buffer, moof.byteOffset, moof.length);
    const defaults = { duration: 1, size: 1, flags: 0, entry: 1 };
    const options = { at: 0, most: 100, trackOf: () => ({ defaults }) };
    return readFragment({ type: 'moof', view, from: 8, to: moof.length }, options);
  };
  expect(read(100)).toHaveLength(100_000);
  expect(() => read(101)).toThrow('more than 100000 runs');
});
