/**
 * A vitest reporter that writes down what happens as it happens, one line of JSON each, into the file that
 * TEST_JOURNAL names. A run that is ended in the middle has its results there all the same, and what was under
 * way. Without that variable it writes nothing. Read by ./summary.ts.
 */
import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node';

/** Times are in milliseconds since 1970; files are relative to the project's folder. */
export type Entry =
  /** What is to run. */
  | { kind: 'files'; files: string[] }
  | { kind: 'begun'; file: string; at: number }
  | { kind: 'done'; file: string; at: number }
  | { kind: 'test begun'; file: string; test: string }
  | { kind: 'test'; file: string; test: string; state: 'passed' | 'failed' | 'skipped'; reason?: string }
  /** An error outside any test: of a hook, a file that does not load, or (without a file) of nothing we know. */
  | { kind: 'error'; file: string; reason: string };

export default class Journal implements Reporter {
  readonly #path = process.env.TEST_JOURNAL;

  constructor() {
    // Test files and what they start have none of it.
    delete process.env.TEST_JOURNAL;
  }

  onTestRunStart(specifications: readonly { moduleId: string }[]): void {
    this.#write({ kind: 'files', files: specifications.map(({ moduleId }) => fromRoot(moduleId)) });
  }

  onTestModuleQueued(module: TestModule): void {
    this.#write({ kind: 'begun', file: fromRoot(module.moduleId), at: Date.now() });
  }

  onTestModuleEnd(module: TestModule): void {
    const file = fromRoot(module.moduleId);
    for (const { message } of module.errors()) this.#write({ kind: 'error', file, reason: message });
    this.#write({ kind: 'done', file, at: Date.now() });
  }

  onTestSuiteResult(suite: TestSuite): void {
    for (const { message } of suite.errors())
      this.#write({
        kind: 'error',
        file: fromRoot(suite.module.moduleId),
        reason: `${suite.fullName}: ${message}`,
      });
  }

  onTestCaseReady(test: TestCase): void {
    this.#write({ kind: 'test begun', ...nameOf(test) });
  }

  onTestCaseResult(test: TestCase): void {
    const { state, errors } = test.result();
    if (state === 'pending') return;
    const reasons = errors?.map(({ message }) => message) ?? [];
    this.#write({ kind: 'test', ...nameOf(test), state, reason: reasons.at(-1) });
  }

  onTestRunEnd(_: readonly TestModule[], errors: readonly { message: string }[]): void {
    for (const { message } of errors) this.#write({ kind: 'error', file: '', reason: message });
  }

  #write(entry: Entry): void {
    if (this.#path) appendFileSync(this.#path, `${JSON.stringify(entry)}\n`);
  }
}

function nameOf(test: TestCase): { file: string; test: string } {
  return { file: fromRoot(test.module.moduleId), test: test.fullName };
}

function fromRoot(path: string): string {
  return relative(process.cwd(), path);
}
