import type { Attempt } from '../../core/plugin/effect.ts';

/** One attempt that a test decides over. */
export interface ScriptedAttempt<Input, Output> extends Attempt<Input> {
  finish(output: Output): void;
  fail(error: Error): void;
}

/**
 * An effect whose attempts end when and as the test says: `world({ effects: { kind: script.run } })`. An attempt that
 * is told to stop does so, unless `isStubborn`.
 */
export function scriptedEffect<Input = unknown, Output = unknown>(
  options: { isStubborn?: boolean } = {},
): {
  readonly run: (job: Attempt) => Promise<unknown>;
  /** All attempts so far, oldest first. */
  readonly attempts: ScriptedAttempt<Input, Output>[];
  /** The one that began last. */
  last(): ScriptedAttempt<Input, Output>;
} {
  const attempts: ScriptedAttempt<Input, Output>[] = [];
  return {
    attempts,
    last() {
      const attempt = attempts.at(-1);
      if (!attempt) throw new Error('nothing was attempted');
      return attempt;
    },
    run: (job) =>
      new Promise((finish, fail) => {
        attempts.push({ ...(job as Attempt<Input>), finish, fail });
        if (!options.isStubborn) job.signal.addEventListener('abort', () => fail(job.signal.reason));
      }),
  };
}
