import { describe, test } from 'vitest';
import type { JobCheck, OpenedJobs } from './check.ts';
import { ruleChecks } from './rule-checks.ts';
import { sequenceChecks } from './sequence-checks.ts';

export const jobChecks: readonly JobCheck[] = [...ruleChecks, ...sequenceChecks];

/** What every driver of the Jobs port must pass, together with the store of its set. `open` gives one with no data. */
export function jobsConformance(name: string, open: () => Promise<OpenedJobs>): void {
  describe(`jobs: ${name}`, () => {
    for (const check of jobChecks) {
      test(check.name, async () => {
        const opened = await open();
        try {
          await check.run(opened);
        } finally {
          await opened.close();
        }
      });
    }
  });
}
