import { expect, test } from 'vitest';
import { hevcSets } from '../../runtime/media/codecs/parameter-sets.ts';

test('a record of very many parameter sets is refused', () => {
  const record = (count: number) => {
    const bytes = new Uint8Array(26 + 3 * count).fill(1);
    bytes[22] = 1;
    bytes.set([33, count >> 8, count & 255], 23);
    for (let at = 26; at < bytes.length; at += 3) bytes[at] = 0;
    return bytes;
  };
  expect(hevcSets(record(512))).toHaveLength(512);
  expect(hevcSets(record(513))).toMatchObject({ malformed: expect.any(String) });
});
