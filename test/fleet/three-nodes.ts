import { afterAll, beforeAll } from 'vitest';
import { type Fleet, startFleet } from '../kit/engines/fleet/fleet.ts';
import { engineFor } from '../kit/engines.ts';

/** For `describe.skipIf`: whether this machine lacks an engine that a fleet runs on. It says which. */
export async function lacksEngines(): Promise<boolean> {
  const engines = await Promise.all([engineFor('redis'), engineFor('kafka'), engineFor('s3')]);
  return engines.some(({ isMissing }) => isMissing);
}

/** Two nodes that decide and answer, `a` and `b`, and `media` that takes broadcasts: there for all tests of a `describe`. */
export function threeNodes(): () => Fleet {
  let fleet: Fleet | undefined;
  beforeAll(async () => {
    fleet = await startFleet();
  }, 180_000);
  afterAll(async () => {
    await fleet?.[Symbol.asyncDispose]();
  }, 90_000);
  return () => {
    if (fleet === undefined) throw new Error('the fleet is there from the first test on');
    return fleet;
  };
}
