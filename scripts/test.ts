/**
 * Runs one vitest project and ends with `N passed, N failed` (`, N skipped` when there are some) alone on a line:
 *
 *     bun scripts/test.ts <unit|e2e> <limit in seconds> [vitest arguments, e.g. a file or -t name]
 *
 * Exit code 0 only when at least one test ran, none failed and vitest itself ended well within the limit. A crash, a
 * file that does not load and an error outside any test count as failed. In CI a skipped test is a failure.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

interface Report {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numTodoTests: number;
  testResults: { name: string; status: string; message?: string; assertionResults: Assertion[] }[];
}

interface Assertion {
  fullName: string;
  status: string;
  failureMessages?: string[];
}

const [project, limit, ...rest] = process.argv.slice(2);
if (!project || !(Number(limit) > 0)) {
  console.error('usage: bun scripts/test.ts <project> <limit in seconds> [vitest arguments]');
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), 'millrace-test-'));
const reportFile = join(folder, 'report.json');
const exit = await runVitest();
const report = readReport();
const counts = count(report);
rmSync(folder, { recursive: true, force: true });

const isSkippedInCi = Boolean(process.env.CI) && counts.skipped > 0;
if (isSkippedInCi) console.error(`\n${counts.skipped} skipped: in CI every test has to run`);
const isGood = exit === 0 && counts.failed === 0 && counts.passed > 0 && !isSkippedInCi;
if (!isGood && counts.failed === 0 && !isSkippedInCi) {
  console.error(counts.passed === 0 ? '\nno test ran' : `\nvitest ended with ${exit}, though no test failed`);
  counts.failed = 1;
}
for (const line of failures(report)) console.log(line);
console.log(
  `\n${counts.passed} passed, ${counts.failed} failed${counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''}`,
);
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
      '--reporter=json',
      `--outputFile.json=${reportFile}`,
      ...rest,
    ],
    { stdio: ['ignore', 'inherit', 'inherit'], detached: true },
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
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => end(signal));
  return new Promise((resolve) => {
    vitest.on('exit', (code, signal) => {
      clearTimeout(timer);
      end('SIGKILL');
      resolve(isLate ? 124 : (code ?? (signal ? 128 : 1)));
    });
  });
}

function readReport(): Report | null {
  try {
    return JSON.parse(readFileSync(reportFile, 'utf8')) as Report;
  } catch {
    return null;
  }
}

/** One line for each failed test and each file that did not load, so that the end of a long log says what it was. */
function failures(report: Report | null): string[] {
  return (report?.testResults ?? []).flatMap(({ name, status, message, assertionResults }) => {
    const failed = assertionResults.filter((one) => one.status === 'failed');
    const lines = failed.map((one) => `${one.fullName}: ${firstLine(one.failureMessages?.[0])}`);
    if (lines.length === 0 && status === 'failed') lines.push(firstLine(message));
    return lines.map((line) => `FAILED ${relative(process.cwd(), name)}: ${line}`);
  });
}

function firstLine(text = 'no reason was given'): string {
  return text.split('\n')[0].slice(0, 300);
}

function count(report: Report | null) {
  if (!report) return { passed: 0, failed: 0, skipped: 0 };
  // A file that fails to load has no test of its own to count.
  const broken = report.testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.length === 0,
  );
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + broken.length,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}
