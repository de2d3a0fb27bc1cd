import { describe, expect, it } from 'vitest';
import { FrameGrid } from '../../runtime/media/hls/frame-grid.ts';

/** Times as RTMP sends them: whole milliseconds, in ticks. */
const rounded = (frame: number, rate: number) => Math.round((frame * 1000) / rate) * 90;

describe('the frame grid', () => {
  it.each([24, 25, 30, 50, 60, 24_000 / 1001, 30_000 / 1001])(
    'gives %d frames a second even steps',
    (rate) => {
      const grid = new FrameGrid();
      grid.use(rate);
      let last = grid.time(rounded(0, rate), true);
      for (let frame = 1; frame < 10_000; frame += 1) {
        const time = grid.time(rounded(frame, rate), false);
        expect(Math.abs(time - last - 90_000 / rate)).toBeLessThanOrEqual(1);
        expect(Math.abs(time - (frame * 90_000) / rate)).toBeLessThan(100);
        last = time;
      }
    },
  );

  it('follows a sender that does not keep the rate it names', () => {
    const grid = new FrameGrid();
    grid.use(30);
    for (let frame = 0; frame < 3000; frame += 1) {
      const sent = rounded(frame, 29.97);
      expect(Math.abs(grid.time(sent, false) - sent)).toBeLessThanOrEqual(100);
    }
  });

  it('keeps the grid over frames left out, and leaves what is off it alone', () => {
    const grid = new FrameGrid();
    grid.use(30);
    expect([0, 33, 133, 150, 183].map((ms) => grid.time(ms * 90, false))).toEqual([
      0, 3000, 12_000, 13_500, 16_500,
    ]);
    expect(grid.offset(50 * 90, false)).toBe(4500);
  });

  it('keeps key frames at whole milliseconds, and the others at whole frames from them', () => {
    const grid = new FrameGrid();
    grid.use(30);
    expect([grid.time(0, true), grid.offset(67 * 90, true)]).toEqual([0, 6030]);
    expect([grid.time(33 * 90, false), grid.offset(133 * 90, false)]).toEqual([3000, 12_030]);
    expect([grid.time(67 * 90, false), grid.offset(33 * 90, false)]).toEqual([6000, 3030]);
    expect(grid.time(100 * 90, true) % 90).toBe(0);
    expect(grid.time(133 * 90, true)).toBe(133 * 90);
    expect(grid.time(167 * 90, false)).toBe(15_000);
  });

  it('does nothing while the rate is unknown', () => {
    const grid = new FrameGrid();
    expect([0, 33, 67].map((ms) => grid.time(ms * 90, false))).toEqual([0, 2970, 6030]);
  });
});
