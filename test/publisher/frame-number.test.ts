import { describe, expect, test } from 'vitest';
import { type Area, type Picture, readFrameNumber, SQUARES } from '../kit/frame-number.ts';

const NUMBERS = [0, 1, 719, 0x5555, 0xaaaa, 0xffff];

describe('the frame number in a picture', () => {
  test.each([1280, 1920, 960, 854, 640, 426, 320])('is read at a width of %d', (width) => {
    for (const number of NUMBERS) expect(readFrameNumber(scaled(number, { width }))).toBe(number);
  });

  test.each([20, 60, 110])('is read through noise of ± %d', (noise) => {
    for (const number of NUMBERS) {
      for (const width of [1280, 640]) expect(readFrameNumber(scaled(number, { width, noise }))).toBe(number);
    }
  });

  test('is read in limited range and dimmed', () => {
    for (const number of NUMBERS) {
      expect(readFrameNumber(scaled(number, { width: 640, level: (v) => 16 + (v * 219) / 255 }))).toBe(
        number,
      );
      expect(readFrameNumber(scaled(number, { width: 640, level: (v) => v * 0.6 }))).toBe(number);
    }
  });

  test('is read where the video is a part of the picture', () => {
    const area: Area = { x: 100, y: 40, width: 800, height: 450 };
    const page: Picture = { width: 1000, height: 600, data: new Uint8ClampedArray(1000 * 600 * 4).fill(17) };
    const video = scaled(4711, { width: area.width });
    for (let y = 0; y < area.height; y++) {
      for (let x = 0; x < area.width * 4; x++) {
        (page.data as Uint8ClampedArray)[((y + area.y) * 1000 + area.x) * 4 + x] =
          video.data[y * area.width * 4 + x];
      }
    }
    expect(readFrameNumber(page, area)).toBe(4711);
    expect(readFrameNumber(page)).toBeNull();
  });

  test('is null where there is none, or a square is unclear', () => {
    const plain = (value: number): Picture => ({
      width: 640,
      height: 360,
      data: new Uint8Array(640 * 360 * 4).fill(value),
    });
    for (const value of [0, 128, 255]) expect(readFrameNumber(plain(value))).toBeNull();
    const random = plain(0);
    for (let i = 0; i < random.data.length; i++) (random.data as Uint8Array)[i] = (i * 2_654_435_761) >>> 24;
    expect(readFrameNumber(random)).toBeNull();
    // Two pictures half over each other, as in the middle of a bad screenshot.
    const [a, b] = [scaled(5, { width: 640 }), scaled(6, { width: 640 })];
    const mixed = Uint8Array.from(a.data, (value, i) => (value + (b.data[i] ?? 0)) / 2);
    expect(readFrameNumber({ ...a, data: mixed })).toBeNull();
  });
});

/** The panel of the clip on dark water, made at full size and scaled down or up by averaging. */
function scaled(
  number: number,
  options: { width: number; noise?: number; level?: (value: number) => number },
): Picture {
  const { width, noise = 0, level = (value) => value } = options;
  const height = Math.round((width * 9) / 16);
  const data = new Uint8ClampedArray(width * height * 4);
  const step = SQUARES.frameWidth / width;
  let seed = number + 1;
  // Only the rows around the panel are looked at, so only they are drawn.
  for (let y = Math.floor(630 / step); y < height; y++) {
    for (let x = 0; x < width; x++) {
      let sum = 0;
      for (const dx of [0.25, 0.75]) {
        sum += valueAt(number, (x + dx) * step, (y + 0.25) * step);
        sum += valueAt(number, (x + dx) * step, (y + 0.75) * step);
      }
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) | 0;
      const at = (y * width + x) * 4;
      data[at] = data[at + 1] = data[at + 2] = level(sum / 4) + ((seed >>> 8) / 2 ** 23 - 1) * noise;
    }
  }
  return { width, height, data };
}

function valueAt(number: number, x: number, y: number): number {
  const { left, top, size, pitch, bits, margin, grey } = SQUARES;
  const right = left + (bits - 1) * pitch + size;
  if (x < left - margin || x > right + margin || y < top - margin / 2 || y > top + size + margin / 2)
    return 40;
  const bit = Math.floor((x - left) / pitch);
  const isSquare = x >= left && (x - left) % pitch < size && y >= top && y < top + size && bit < bits;
  if (!isSquare) return grey;
  return (number >> (bits - 1 - bit)) & 1 ? 255 : 0;
}
