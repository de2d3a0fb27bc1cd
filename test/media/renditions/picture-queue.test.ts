import { expect, test } from 'vitest';
import { MemoryBudget } from '../../../runtime/media/publish/memory-budget.ts';
import { LadderBroken, LadderFull } from '../../../runtime/media/renditions/ladder.ts';
import { ladderLimits } from '../../../runtime/media/renditions/live/limits.ts';
import { PictureQueue } from '../../../runtime/media/renditions/live/picture-queue.ts';

function queue(
  limits: Partial<typeof ladderLimits> = {},
  memory = new MemoryBudget({ limit: 1 << 30 }).open(),
) {
  const made = new PictureQueue({
    isEach: true,
    memory: memory.hold({ isExpendable: true }),
    limits: { ...ladderLimits, ...limits },
  });
  const add = (time: number, size: number) => {
    made.reserve(size);
    made.follow(time);
    const start = made.arena.length;
    made.arena.length += size;
    made.push(time, time, start, false);
  };
  return { made, add };
}

test('pictures that wait are bounded in number and bytes', () => {
  const few = queue({ pictures: 3 });
  for (const time of [1, 2, 3]) few.add(time, 10);
  expect(() => few.add(4, 10)).toThrow(LadderBroken);
  const small = queue({ pictureBytes: 100_000 });
  small.add(1, 60_000);
  expect(() => small.add(2, 60_000)).toThrow('100000 bytes');
});

test('without memory it says so', () => {
  const { add } = queue({}, new MemoryBudget({ limit: 100_000 }).open());
  expect(() => add(1, 200_000)).toThrow(LadderFull);
});

test('pictures out of order are refused', () => {
  const { add } = queue();
  add(10, 10);
  expect(() => add(10, 10)).toThrow(LadderBroken);
  expect(() => add(9, 10)).toThrow('B-frames');
});

test('closed, it holds nothing', () => {
  const budget = new MemoryBudget({ limit: 1 << 30 });
  const { made, add } = queue({}, budget.open());
  add(1, 300_000);
  expect(budget.held).toBeGreaterThan(300_000);
  made.close();
  expect(budget.held).toBe(0);
});
