import { describe, test } from 'vitest';
import type { JobCheck, OpenedJobs } from './check.ts';
import { ruleChecks } from './rule-checks.ts';
import { sequenceChecks } from './sequence-checks.ts';

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

export async function runCheck(check: JobCheck, open: () => Promise<OpenedJobs>): Promise<void> {
  const opened = await open();
  try {
    await check.run(opened);
  } finally {
    await opened.close();
  }
}
