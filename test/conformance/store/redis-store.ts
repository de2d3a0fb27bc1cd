import { type RedisStoreOptions, redisStore } from '../../../runtime/drivers/store/redis/index.ts';
import type { OpenedStore } from './check.ts';

/** A store on keys that nobody has used. */
export function openRedis(options: RedisStoreOptions): OpenedStore {
  const whole = { namespace: `check-${process.pid}-${++number}`, ...options };
  let current = redisStore(whole);
  return {
    store: current,
    async reopen() {
      await current.close();
      current = redisStore(whole);
      return current;
    },
    close: () => current.close(),
  };
}

let number = 0;
