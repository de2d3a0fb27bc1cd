/** Pictures and animations in every format, by a real ffmpeg, without a server around it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stillFormats } from '../../core/ports/stills.ts';
import { fakeFfmpeg } from '../ffmpeg/fake.ts';
import { fragmentsOf, orderOf, realStills, sourceOf } from './kit.ts';
import { numberIn, pngsOf, sizeOf } from './shown.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-stills-'));
let film: Awaited<ReturnType<typeof fragmentsOf>>;
let other: typeof film;
/** Seconds of a segment. */
const length = 2;

beforeAll(async () => {
  const clip = ['-i', 'demo/clip.flv', '-t', '8', '-an', '-c:v', 'libx264', '-preset', 'ultrafast'];
  const groups = ['-bf', '2', '-g', '60', '-sc_threshold', '0', '-vsync', 'passthrough'];
  film = await fragmentsOf(folder, { name: 'film', args: [...clip, ...groups, '-s', '640x360'] });
  other = await fragmentsOf(folder, { name: 'other', args: [...clip, ...groups, '-s', '480x270'] });
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Segments that follow each other, the first of which begins at 0. */
const segments = (from: number, count: number) =>
  film.segments.slice(from, from + count).map((segment, row) => ({
    sources: [sourceOf({ ...film, segment })],
    begins: row * length,
  }));

/** Pictures of an animated WebP (RFC 9649 2.7.1.3), and how long each is shown, ms. */
function framesIn(webp: Uint8Array): number[] {
  const bytes = Buffer.from(webp);
  const found: number[] = [];
  for (let at = 12; at + 8 <= bytes.length; ) {
    const size = bytes.readUInt32LE(at + 4);
    if (bytes.toString('latin1', at, at + 4) === 'ANMF') found.push(bytes.readUIntLE(at + 20, 3));
    at += 8 + size + (size % 2);
  }
  return found;
}

it.each(stillFormats)('a picture as %s is the same picture', async (format) => {
  using made = realStills();
  const [, segment] = film.segments;
  const pictures = [{ sources: [sourceOf({ ...film, segment }, { at: 0.5 })] }];
  const still = await made.stills.make(orderOf({ format, pictures, width: 480, height: 640 }));
  expect([still.width, still.height]).toEqual([480, 270]);
  expect(await sizeOf(still.bytes)).toEqual({ width: 480, height: 270 });
  expect(await numberIn(still.bytes)).toBe(75);
});

it('an animated GIF shows the film from one time to the other, across segments', async () => {
  using made = realStills();
  const motion = { from: 1, to: 5, fps: 10 };
  const order = orderOf({ format: 'gif', motion, pictures: segments(0, 3), width: 480, height: 480 });
  const still = await made.stills.make(order);
  expect([still.width, still.height]).toEqual([480, 270]);
  const shown = await pngsOf(still.bytes);
  const numbers = await Promise.all([0, 5, 10, 20, 39].map((row) => numberIn(shown[row])));
  expect([shown.length, ...numbers]).toEqual([40, 30, 45, 60, 90, 147]);
});

it('an animated WebP has as many pictures, each as long', async () => {
  using made = realStills();
  const motion = { from: 0.5, to: 3.5, fps: 10 };
  const order = orderOf({ format: 'webp', motion, pictures: segments(1, 2), width: 320, height: 320 });
  const still = await made.stills.make(order);
  expect([still.width, still.height]).toEqual([320, 180]);
  expect(framesIn(still.bytes)).toEqual(Array.from({ length: 30 }, () => 100));
});

it('an animation ends with the film, and where its format changes', async () => {
  using made = realStills();
  const changed = {
    sources: [sourceOf({ ...other, segment: other.segments[1] }, { id: 'b' })],
    begins: length,
  };
  for (const pictures of [segments(3, 1), [...segments(0, 1), changed]]) {
    const motion = { from: 1, to: 4, fps: 10 };
    const still = await made.stills.make(
      orderOf({ format: 'webp', motion, pictures, width: 160, height: 160 }),
    );
    // One more or less where it ends.
    expect(Math.abs(framesIn(still.bytes).length - 10)).toBeLessThanOrEqual(1);
  }
});

it('an animation of what has no pictures there is refused', async () => {
  using made = realStills();
  const garbled = { sources: [sourceOf({ ...film, segment: Buffer.alloc(5000, 0x55) })] };
  const motion = { from: 0, to: 1, fps: 10 };
  const none = made.stills.make(orderOf({ format: 'gif', motion, pictures: [garbled] }));
  await expect(none).rejects.toMatchObject({ code: 'still.none' });
  const late = { from: 7, to: 8, fps: 10 };
  const behind = made.stills.make(orderOf({ format: 'gif', motion: late, pictures: segments(3, 1) }));
  await expect(behind).rejects.toMatchObject({ code: 'still.none' });
});

it('an ffmpeg that does not write a format is said to be the reason', async () => {
  const says = `echo "Unknown encoder 'libwebp'" >&2; cat >/dev/null; exit 1`;
  await using fake = await fakeFfmpeg(says);
  using made = realStills({ path: fake.path });
  const [segment] = film.segments;
  const pictures = [{ sources: [sourceOf({ ...film, segment })] }];
  await expect(made.stills.make(orderOf({ format: 'webp', pictures }))).rejects.toMatchObject({
    ...{ code: 'still.unavailable', status: 503, message: expect.stringContaining('does not write') },
  });
});
