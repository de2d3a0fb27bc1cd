import { createClient } from 'redis';
import { describe } from 'vitest';
import { redisStore } from '../../runtime/drivers/store/redis/index.ts';
import { engineFor } from '../kit/engines.ts';
import { stepCrashes } from './step-crashes.ts';

const redis = await engineFor('redis');
let number = 0;

describe.skipIf(redis.isMissing)('on a real Redis', () => {
  stepCrashes('Redis', async () => {
    const { url } = await redis.shared();
    const namespace = `crash-${++number}`;
    const stop = `{${namespace}.log}:stop`;
    const client = createClient({ url });
    await client.connect();
    return {
      open: async () =>
        redisStore({
          url,
          namespace,
          // The process is as good as dead where its events cannot get from the outbox to the log.
          change: (name, text) =>
            name === 'append'
              ? `if redis.call('EXISTS', '${stop}') == 1 then return redis.error_reply('STOPPED') end\n${text}`
              : text,
        }),
      breakLog: async (isBroken) => void (isBroken ? await client.set(stop, '1') : await client.del(stop)),
      remove: async () => client.destroy(),
    };
  });
});
