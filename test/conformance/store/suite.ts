import { describe, test } from 'vitest';
import type { Check, OpenedStore } from './check.ts';
import { listChecks } from './list-checks.ts';
import { logChecks } from './log-checks.ts';
import { partitionChecks } from './partition-checks.ts';
import { resourceChecks } from './resource-checks.ts';
import { sequenceChecks } from './sequence-checks.ts';
import { stepChecks } from './step-checks.ts';

export const storeChecks: readonly Check[] = [
  ...stepChecks,
  ...partitionChecks,
  ...resourceChecks,
  ...listChecks,
  ...logChecks,
  ...sequenceChecks,
];

/** What every driver of the Store port must pass. `open` gives a store with no data. */
export function storeConformance(name: string, open: () => Promise<OpenedStore>): void {
  runChecks(name, storeChecks, open);
}

export function runChecks(name: string, checks: readonly Check[], open: () => Promise<OpenedStore>): void {
  describe(`store: ${name}`, () => {
    for (const check of checks) {
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
