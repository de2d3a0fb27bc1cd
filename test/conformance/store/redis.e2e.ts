import { describe } from 'vitest';
import { engineFor } from '../../kit/engines.ts';
import type { Check } from './check.ts';
import { openRedis } from './redis-store.ts';
import { sequenceChecks } from './sequence-checks.ts';
import { stepChecks } from './step-checks.ts';
import { runChecks, storeConformance } from './suite.ts';

const redis = await engineFor('redis');

describe.skipIf(redis.isMissing)('on a real Redis', () => {
  storeConformance('redis, synced every second', async () => openRedis({ url: (await redis.shared()).url }));

  const some: Check[] = [...stepChecks, ...sequenceChecks.slice(0, 2)];
  let strict: ReturnType<typeof redis.start> | undefined;
  runChecks('redis, synced always', some, async () => {
    strict ??= redis.start({ fsync: 'always' });
    return openRedis({ url: (await strict).url, fsync: 'always' });
  });
});
