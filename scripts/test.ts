/**
 * Runs one vitest project and ends with `N passed, N failed` (`, N skipped` when there are some) alone on a line:
 *
 *     bun scripts/test.ts <unit|e2e> <limit in seconds> [vitest arguments, e.g. a file or -t name]
 *
 * Before that it names the ten files that took longest, and what failed. Exit code 0
 * only when at least one test ran, none failed and vitest itself ended well within the limit. A crash, a file that does
 * not load, one that was not done at the limit and an error outside any test count as failed. In CI a skipped test is a
 * failure.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readJournal, summarize } from '../test/runner/summary.ts';

const [project, limit, ...rest] = process.argv.slice(2);
if (!project || !(Number(limit) > 0)) {
  console.error('usage: bun scripts/test.ts <project> <limit in seconds> [vitest arguments]');
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), 'millrace-test-'));
/** Set from outside it is kept. */
const journal = process.env.TEST_JOURNAL ?? join(folder, 'journal');
const exit = await runVitest();
const summary = summarize(readJournal(existsSync(journal) ? readFileSync(journal, 'utf8') : ''));
rmSync(folder, { recursive: true, force: true });

let { passed, failed, skipped } = summary;
const isSkippedInCi = Boolean(process.env.CI) && skipped > 0;
if (isSkippedInCi) console.error(`\n${skipped} skipped: in CI every test has to run`);
const isGood = exit === 0 && failed === 0 && passed > 0 && !isSkippedInCi;
if (!isGood && failed === 0 && !isSkippedInCi) {
  console.error(passed === 0 ? '\nno test ran' : `\nvitest ended with ${exit}, though no test failed`);
  failed = 1;
}
if (summary.slowest.length > 1) console.log(`\nthe slowest files:\n${summary.slowest.join('\n')}\n`);
for (const line of summary.failures) console.log(line);
console.log(`\n${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
process.exit(isGood ? 0 : 1);

/** Exit code of vitest; 124 when it was ended at the limit. It leads a process group of its own, so nothing it started stays. */
function runVitest(): Promise<number> {
  const vitest = spawn(
    process.execPath,
    [
      '--bun',
      'node_modules/vitest/vitest.mjs',
      'run',
      `--project=${project}`,
      `--project=${project}-alone`,
      '--reporter=default',
      '--reporter=./test/runner/journal.ts',
      ...rest,
    ],
    {
      stdio: ['ignore', 'inherit', 'inherit'],
      detached: true,
      env: { ...process.env, TEST_JOURNAL: journal },
    },
  );
  const end = (signal: NodeJS.Signals) => {
    try {
      process.kill(-(vitest.pid as number), signal);
    } catch {
      // The group is gone already.
    }
  };
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    console.error(`\nnot done after ${limit} s: ended`);
    end('SIGKILL');
  }, Number(limit) * 1000);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      end(signal);
      // The caller does not wait for long, and needs the counts.
      setTimeout(() => end('SIGKILL'), 5000).unref();
    });
  return new Promise((resolve) => {
    vitest.on('exit', (code, signal) => {
      clearTimeout(timer);
      end('SIGKILL');
      resolve(isLate ? 124 : (code ?? (signal ? 128 : 1)));
    });
  });
}
