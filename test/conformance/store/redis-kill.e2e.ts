import { describe, expect, test } from 'vitest';
import { redisStore } from '../../../runtime/drivers/store/redis/index.ts';
import { engineFor } from '../../kit/engines.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { expectWhole, runUntil } from './kills.ts';

const redis = await engineFor('redis');
const rounds = 5;

describe.skipIf(redis.isMissing)('SIGKILL at random moments', () => {
  test(`of a node: everything acknowledged is there, ${rounds} rounds`, async () => {
    const { url } = await redis.start();
    for (let round = 0; round < rounds; round++) {
      const after = 20 + Math.random() * 150;
      const acknowledged = await runUntil(url, { after, kill: (child) => child.kill('SIGKILL') });
      expect(acknowledged.size).toBeGreaterThan(0);
      await expectWholeAt(url, acknowledged);
    }
  });

  // What was written reached the kernel; only a power failure may take the second that is not synced.
  test.each(['everysec', 'always'] as const)(
    `of Redis, synced %s: everything acknowledged is there, ${rounds} rounds`,
    async (fsync) => {
      const engine = await redis.start({ fsync });
      for (let round = 0; round < rounds; round++) {
        const after = 20 + Math.random() * 150;
        // The node ends with the first commit that it gets no answer to.
        const acknowledged = await runUntil(engine.url, { after, kill: () => engine.kill() });
        expect(acknowledged.size).toBeGreaterThan(0);
        await engine.restart();
        await expectWholeAt(engine.url, acknowledged);
      }
    },
  );
});

async function expectWholeAt(url: string, acknowledged: ReadonlyMap<number, number>): Promise<void> {
  const store = redisStore({ url, log: silentLog });
  await expectWhole(store, acknowledged);
  await store.close();
}
