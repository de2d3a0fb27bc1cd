import { describe } from 'vitest';
import { engineFor } from '../../kit/engines.ts';
import { startCluster } from '../../kit/redis-cluster.ts';
import type { Check } from './check.ts';
import { listChecks } from './list-checks.ts';
import { logChecks } from './log-checks.ts';
import { outboxChecks } from './outbox-checks.ts';
import { partitionChecks } from './partition-checks.ts';
import { openRedis } from './redis-store.ts';
import { resourceChecks } from './resource-checks.ts';
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

  // Redis then refuses a script that touches keys of two places. One node has them all, so the client needs no more.
  const all = [
    ...stepChecks,
    ...partitionChecks,
    ...resourceChecks,
    ...listChecks,
    ...logChecks,
    ...outboxChecks,
  ];
  let cluster: Promise<string> | undefined;
  runChecks('redis, where each call must stay in one slot of a cluster', all, async () => {
    cluster ??= startCluster(redis);
    return openRedis({ url: await cluster });
  });
});
