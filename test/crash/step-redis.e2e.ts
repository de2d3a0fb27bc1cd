import { describe } from 'vitest';
import { redisStore } from '../../runtime/drivers/store/redis/index.ts';
import { engineFor } from '../kit/engines.ts';
import { silentLog } from '../kit/silent-log.ts';
import { stepCrashes } from './step-crashes.ts';

const redis = await engineFor('redis');
let number = 0;

describe.skipIf(redis.isMissing)('on a real Redis', () => {
  stepCrashes('Redis', async () => {
    const { url } = await redis.shared();
    const namespace = `crash-${++number}`;
    return {
      open: async () => redisStore({ url, namespace, log: silentLog }),
      remove: async () => {},
    };
  });
});
