import { expect, test } from 'vitest';
// @ts-expect-error: the page's own script, which has no types.
import { Pace } from '../../plugins/watch/page/pace.js';

interface Course {
  /** Seconds behind live at the end. */
  behind: number;
  /** Least in the buffer during the last ten seconds, seconds. */
  least: number;
  /** Seconds without anything to show. */
  stalled: number;
  /** Changes of speed during the last ten seconds. */
  changes: number;
}

/** Plays a minute: parts of `part` seconds, of which each arrives `late` seconds after its end. */
function playing(options: {
  part: number;
  from: number;
  wanted: number;
  late?: (index: number) => number;
}): Course {
  const { part, from, wanted, late = () => 0.05 } = options;
  const pace = new Pace();
  const course = { behind: 0, least: Number.POSITIVE_INFINITY, stalled: 0, changes: 0 };
  let position = -from;
  let rate = 1;
  let arrived = 0;
  let parts = 0;
  for (let ms = 0; ms < 60_000; ms += 10) {
    const time = ms / 1000;
    while ((parts + 1) * part + late(parts) <= time) {
      parts += 1;
      arrived = parts * part;
    }
    const next = Math.min(position + 0.01 * rate, arrived);
    if (time > from && next - position < 0.009) course.stalled += 0.01;
    position = next;
    const ahead = arrived - position;
    course.behind = time - position;
    if (time > 50) course.least = Math.min(course.least, ahead);
    if (ms % 100 !== 0) continue;
    const wish = pace.next({ behind: course.behind, wanted, ahead, now: ms });
    if (time > 50 && wish !== rate) course.changes += 1;
    expect(wish).toBeGreaterThanOrEqual(0.95);
    expect(wish).toBeLessThanOrEqual(1.2);
    rate = wish;
  }
  return course;
}

test.each([
  [0.233, 0.75],
  [0.35, 1.05],
  [0.5, 1.5],
])('with parts of %d s it comes to stand %d s behind live, and stays there', (part, wanted) => {
  for (const from of [wanted + 0.3, wanted + 1, wanted + 4]) {
    const course = playing({ part, from, wanted });
    expect(Math.abs(course.behind - wanted)).toBeLessThan(0.1);
    expect(course.least).toBeGreaterThan(0.15);
    expect(course.stalled).toBe(0);
    expect(course.changes).toBeLessThan(5);
  }
});

test('where parts arrive late it stays further from live than wanted, and does not stand still', () => {
  const course = playing({ part: 0.233, from: 2, wanted: 0.75, late: (index) => 0.3 + (index % 3) * 0.25 });
  expect(course.stalled).toBe(0);
  expect(course.behind).toBeGreaterThan(0.95);
  expect(course.least).toBeGreaterThan(0.05);
});

test('when parts begin to come late it falls back slowly', () => {
  const course = playing({ part: 0.233, from: 1, wanted: 0.75, late: (index) => (index < 100 ? 0.05 : 0.4) });
  expect(course.stalled).toBeLessThan(0.2);
  expect(course.least).toBeGreaterThan(0.05);
});
