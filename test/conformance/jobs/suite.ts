import { describe, test } from 'vitest';
import type { JobCheck, OpenedJobs } from './check.ts';
import { ruleChecks } from './rule-checks.ts';
import { sequenceChecks } from './sequence-checks.ts';
import { TooSlow } from './time.ts';

/** What every driver of the Jobs port must pass, together with the store of its set. `open` gives one with no data. */
export function jobsConformance(
  name: string,
  open: () => Promise<OpenedJobs>,
  checks: readonly JobCheck[] = [...ruleChecks, ...sequenceChecks],
): void {
  describe(`jobs: ${name}`, () => {
    for (const check of checks) test(check.name, () => runCheck(check, open));
  });
}

/** Once more, from the beginning and with more time, when the machine was too slow to tell anything. */
export async function runCheck(
  check: JobCheck,
  open: () => Promise<OpenedJobs>,
  slowness = 1,
): Promise<void> {
  const opened = await open();
  try {
    return await check.run(opened, slowness);
  } catch (error) {
    if (!(error instanceof TooSlow) || slowness === slowest) throw error;
  } finally {
    await opened.close();
  }
  return runCheck(check, open, slowness * 2);
}

/** A power of 2. */
const slowest = 8;
