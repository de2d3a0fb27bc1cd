import { expect, test } from 'vitest';
import { MemoryBudget } from '../../../runtime/media/publish/memory-budget.ts';
import { LadderBroken, LadderFull } from '../../../runtime/media/renditions/ladder.ts';
import {
  maxPictureBytes,
  maxPictures,
  PictureQueue,
} from '../../../runtime/media/renditions/live/picture-queue.ts';

function queue(memory = new MemoryBudget({ limit: 1 << 30 }).open()) {
  const made = new PictureQueue({
    isEach: true,
    memory: memory.hold({ isExpendable: true }),
  });
  const add = (time: number, size: number) => {
    made.follow(time);
    made.push(time, time, new Uint8Array(size), false);
  };
  return { made, add };
}

test('pictures that wait are bounded in number and bytes', () => {
  const few = queue();
  for (let time = 1; time <= maxPictures; time += 1) few.add(time, 10);
  expect(() => few.add(maxPictures + 1, 10)).toThrow(LadderBroken);
  const large = queue();
  large.add(1, maxPictureBytes - 10);
  expect(() => large.add(2, 11)).toThrow(`${maxPictureBytes} bytes`);
});

test('without memory it says so', () => {
  const { add } = queue(new MemoryBudget({ limit: 100_000 }).open());
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
  const { made, add } = queue(budget.open());
  add(1, 300_000);
  expect(budget.held).toBeGreaterThan(300_000);
  made.close();
  expect(budget.held).toBe(0);
});
