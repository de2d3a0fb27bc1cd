import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CASES, decodeTimes, LENGTH, messagesOf, sendCase } from './timestamp-cases.ts';

const clip = messagesOf(readFileSync(join(import.meta.dirname, '../../demo/clip.flv')));
const hasSent = (type: number) => (message: { type: number }) => message.type === type;

/** The real thing's boxes and playlists for each case: the decoder's word on them is in test/e2e/timestamps.e2e.ts. */
test.each(CASES)('$name', async (item) => {
  const { viewer, publisher, issues, sent, picture, sound } = await sendCase(item.bend(clip));
  const pictures = sent.filter(hasSent(9));
  const sounds = sent.filter(hasSent(8));
  expect(publisher.fatal).toEqual([]);
  expect(issues).toEqual(item.issues ?? []);
  expect(viewer.segments.at(-1)?.discontinuities).toBe(item.discontinuities ?? 0);
  const within = (seconds: number, wanted: number) =>
    expect(Math.abs(seconds - wanted), `${seconds} s instead of ${wanted}`).toBeLessThanOrEqual(
      wanted * 0.01,
    );
  within(picture, pictures.length > 0 ? (item.picture ?? LENGTH) : 0);
  within(sound, sounds.length > 0 ? (item.sound ?? LENGTH) : 0);

  const times = [decodeTimes(viewer, 1), decodeTimes(viewer, 2)];
  for (const of of times) expect(of.every((time, i) => i === 0 || time > of[i - 1])).toBe(true);
  const sequences = viewer.segments.map(({ sequence }) => sequence);
  expect(sequences.every((sequence, i) => i === 0 || sequence === sequences[i - 1] + 1)).toBe(true);

  if (times[0].length !== pictures.length || times[1].length !== sounds.length) {
    // Only what a late header or a first picture cuts off may be missing.
    expect([item.picture, item.sound]).not.toEqual([undefined, undefined]);
    return;
  }
  const off = [
    times[0].map((time, i) => time - pictures[i].time),
    times[1].map((time, i) => time - sounds[i].time),
  ];
  const spread = Math.max(...off.flat()) - Math.min(...off.flat());
  expect(spread, 'ms between how it was taken and how it is played').toBeLessThanOrEqual(
    (item.apart ?? 0.1) * 1000,
  );
});
