import { expect, test } from 'vitest';
import type { Entry } from '../runner/journal.ts';
import { readJournal, summarize } from '../runner/summary.ts';

const file = 'test/a.test.ts';

test('tests are counted by how they ended, and each failure is a line', () => {
  const { passed, failed, skipped, failures } = summarize([
    { kind: 'files', files: [file] },
    { kind: 'begun', file, at: 0 },
    ...['one', 'two'].map((test): Entry => ({ kind: 'test', file, test, state: 'passed' })),
    { kind: 'test', file, test: 'three', state: 'failed', reason: 'expected 1 to be 2\nand more' },
    { kind: 'test', file, test: 'four', state: 'skipped' },
    { kind: 'error', file, reason: 'suite: of a hook' },
    { kind: 'done', file, at: 1000 },
    { kind: 'error', file: '', reason: 'of nobody' },
  ]);
  expect({ passed, failed, skipped }).toEqual({ passed: 2, failed: 3, skipped: 1 });
  expect(failures).toEqual([
    `FAILED ${file}: three: expected 1 to be 2 | and more`,
    `FAILED ${file}: suite: of a hook`,
    'FAILED outside any file: of nobody',
  ]);
});

test('a run that was ended in the middle names what was not done, and what it was at', () => {
  const { passed, failed, failures } = summarize([
    { kind: 'files', files: ['done', 'loading', 'running', 'waiting'] },
    { kind: 'begun', file: 'done', at: 0 },
    { kind: 'test', file: 'done', test: 'one', state: 'passed' },
    { kind: 'done', file: 'done', at: 1000 },
    { kind: 'begun', file: 'loading', at: 1000 },
    { kind: 'begun', file: 'running', at: 1000 },
    ...['one', 'two', 'three'].map((test): Entry => ({ kind: 'test begun', file: 'running', test })),
    { kind: 'test', file: 'running', test: 'one', state: 'passed' },
  ]);
  expect({ passed, failed }).toEqual({ passed: 2, failed: 3 });
  expect(failures).toEqual([
    'FAILED loading: not done',
    'FAILED running: not done, in the middle of two; three',
    'FAILED waiting: not begun',
  ]);
});

test('a reason of many lines stands on one, with its begin and its end', () => {
  const reason = `it ended; it printed:\n${'noise\n'.repeat(1000)}error: the port is in use\n`;
  const [line] = summarize([{ kind: 'test', file, test: 'one', state: 'failed', reason }]).failures;
  expect(line).toMatch(/: it ended; it printed: \| noise .* … .* noise \| error: the port is in use$/);
  expect(line.length).toBeLessThan(1400);
});

test('the ten slowest files are named, the slowest first', () => {
  const { slowest } = summarize(
    Array.from({ length: 12 }, (_, n): Entry[] => [
      { kind: 'begun', file: `${n}`, at: 500 },
      { kind: 'done', file: `${n}`, at: 500 + 1000 * n },
    ]).flat(),
  );
  expect(slowest).toHaveLength(10);
  expect(slowest[0]).toBe('  11.0 s  11');
  expect(slowest[9]).toBe('   2.0 s  2');
});

test('a journal whose last line was cut off is read up to there', () => {
  const done: Entry = { kind: 'done', file, at: 1 };
  expect(readJournal(`${JSON.stringify(done)}\n{"kind":"te`)).toEqual([done]);
  expect(readJournal('')).toEqual([]);
});
