import { describe, expect, it } from 'vitest';

interface Reading {
  readonly at: number;
  readonly free: number;
}
interface Forecast {
  readonly kind: string;
  readonly span: number;
  readonly perDay?: number;
  readonly left?: number;
}
const module = '../../../plugins/dashboard/page/lib/forecast.js';
const { forecastOf, withReading } = (await import(module)) as {
  forecastOf(readings: readonly Reading[], disk: { free: number; total: number }): Forecast;
  withReading(readings: readonly Reading[], reading: Reading): Reading[];
};

const hour = 3_600_000;
const total = 1e12;
/** A reading each 10 minutes for so many hours. */
const readings = (hours: number, free: (hour: number) => number): Reading[] =>
  Array.from({ length: hours * 6 + 1 }, (_, index) => ({ at: (index * hour) / 6, free: free(index / 6) }));

describe('the forecast of the disk', () => {
  it('says when it is full at the rate of the readings', () => {
    // 1 GB an hour, of which 216 GB are left.
    const forecast = forecastOf(
      readings(10, (at) => 226e9 - at * 1e9),
      { free: 216e9, total },
    );
    expect(forecast.kind).toBe('fills');
    expect(forecast.perDay).toBeCloseTo(24e9, -3);
    expect((forecast.left ?? 0) / 86_400_000).toBeCloseTo(9, 6);
  });

  it('follows the trend, not a film that was deleted meanwhile', () => {
    const noisy = readings(24, (at) => 500e9 - at * 1e9 + (Math.round(at * 6) % 2 === 0 ? 2e8 : -2e8));
    expect(forecastOf(noisy, { free: 476e9, total }).perDay).toBeCloseTo(24e9, -9);
  });

  it('does not guess from an hour that is not over, nor from two readings', () => {
    expect(forecastOf([], { free: 1e9, total })).toEqual({ kind: 'unknown', span: 0 });
    const short = readings(1, (at) => 5e9 - at * 1e9).slice(0, -1);
    expect(forecastOf(short, { free: 4e9, total })).toEqual({ kind: 'unknown', span: (5 / 6) * hour });
    const two = [
      { at: 0, free: 5e9 },
      { at: 5 * hour, free: 1e9 },
    ];
    expect(forecastOf(two, { free: 1e9, total }).kind).toBe('unknown');
  });

  it('calls a disk steady that does not fill, or gets emptier', () => {
    expect(
      forecastOf(
        readings(5, () => 5e9),
        { free: 5e9, total },
      ).kind,
    ).toBe('steady');
    expect(
      forecastOf(
        readings(5, (at) => 5e9 + at * 1e9),
        { free: 10e9, total },
      ).kind,
    ).toBe('steady');
  });
});

describe('the readings', () => {
  it('are kept every 5 minutes for a week, fewer of what is long ago', () => {
    let kept: Reading[] = [];
    for (let at = 0; at <= 24 * hour; at += 5000) kept = withReading(kept, { at, free: 1 });
    expect(kept.length).toBeLessThanOrEqual(200);
    expect(kept.length).toBeGreaterThan(99);
    expect(24 * hour - (kept.at(-1)?.at ?? 0)).toBeLessThan(hour / 6);
    expect(kept[0]?.at).toBeLessThan(hour);
    const later = { at: 24 * hour + 8 * 86_400_000, free: 2 };
    expect(withReading(kept, later)).toEqual([later]);
    // The clock was set back.
    expect(withReading(kept, { at: 0, free: 3 })).toEqual([{ at: 0, free: 3 }]);
  });
});
