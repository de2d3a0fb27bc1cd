import { test } from 'vitest';
import { keepToTheLetter, partTargets } from './part-lengths.ts';

test.each(partTargets)('parts of %d s keep to the letter at every usual frame rate', async (partTarget) => {
  for (const fps of [60, 59.94, 50, 30, 29.97, 25, 24, 23.976, 20]) await keepToTheLetter(partTarget, fps);
});
