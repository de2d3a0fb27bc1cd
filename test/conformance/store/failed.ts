import type { Check, OpenedStore } from './check.ts';

/** Names of the checks that a driver does not pass. An error that is no failed expectation is thrown. */
export async function failed(checks: readonly Check[], open: () => Promise<OpenedStore>): Promise<string[]> {
  const names: string[] = [];
  for (const check of checks) {
    const opened = await open();
    try {
      await check.run(opened);
    } catch (error) {
      if (!(error instanceof Error && error.name === 'AssertionError')) throw error;
      names.push(check.name);
    } finally {
      await opened.close();
    }
  }
  return names;
}
