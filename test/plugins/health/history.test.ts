import { expect, test } from 'vitest';
import { History } from '../../../plugins/health/history.ts';

const start = Date.UTC(2026, 0, 1);
const fine = { fps: 30, keyFrameInterval: 2, jitter: 1, dropped: 0, late: 0 };
const look = { ...fine, ingestRate: 1_000_000, viewerCount: 1, issues: [] as string[] };

test('it holds one hour, oldest first, and never more', () => {
  const history = new History();
  for (let second = 0; second < 9000; second += 1)
    history.add({ ...look, viewerCount: second }, start + second * 1000);
  const points = history.points;
  expect(points).toHaveLength(720);
  expect(points.map(({ time }) => time)).toEqual(
    Array.from({ length: 720 }, (_, index) => start + 5000 * (1800 - 720 + index)),
  );
  expect(points.at(-1)?.viewerCount).toBe(8999);
});

test('an hour that nothing was added in is gone, with what came before it', () => {
  const history = new History();
  for (let second = 0; second < 100; second += 5) history.add(look, start + second * 1000);
  history.add(look, start + 4000_000);
  expect(history.points).toHaveLength(1);
});

test('a clock that was set back goes on with the newest point', () => {
  const history = new History();
  history.add(look, start + 60_000);
  history.add({ ...look, late: 2 }, start);
  expect(history.points).toMatchObject([{ time: start + 60_000, late: 2 }]);
});

test('a point has the worst of its seconds, and all issues', () => {
  const history = new History();
  history.add({ ...look, jitter: 900, keyFrameInterval: 8.5, issues: ['jitter'] }, start);
  history.add({ ...look, dropped: 20, issues: ['odd', 'jitter'] }, start + 1000);
  expect(history.points[0]).toMatchObject({
    jitter: 900,
    keyFrameInterval: 8.5,
    dropped: 20,
    isHealthy: false,
    issues: ['jitter', 'odd'],
  });
  history.add(look, start + 5000);
  expect(history.points[1]).toMatchObject({ jitter: 1, dropped: 0, isHealthy: true, issues: [] });
});

test('a point has at most twenty issues', () => {
  const history = new History();
  for (let index = 0; index < 30; index += 1) history.add({ ...look, issues: [`text ${index}`] }, start);
  expect(history.points[0].issues).toHaveLength(20);
});
