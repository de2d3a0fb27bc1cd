import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { longest } from '../runner/longest-first.ts';

test('files that are begun first are there, each once', () => {
  expect(longest.filter((file) => !existsSync(join(import.meta.dirname, '../..', file)))).toEqual([]);
  expect(new Set(longest).size).toBe(longest.length);
});
