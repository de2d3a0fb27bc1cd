import {
  type RedisStore,
  type RedisStoreOptions,
  redisStore,
} from '../../../runtime/drivers/store/redis/index.ts';
import { silentLog } from '../../kit/silent-log.ts';
import type { OpenedStore } from './check.ts';

/** A store on keys that nobody has used. */
export function openRedis(options: Omit<RedisStoreOptions, 'log'>): OpenedStore {
  const whole = { namespace: `check-${process.pid}-${++number}`, log: silentLog, ...options };
  let current = redisStore(whole);
  return {
    store: withoutEpochs(current),
    async reopen() {
      await current.close();
      current = redisStore(whole);
      return withoutEpochs(current);
    },
    close: () => current.close(),
  };
}

let number = 0;

/** Not every store remembers those of its events. */
function withoutEpochs(store: RedisStore): RedisStore {
  const after: RedisStore['events']['after'] = async (...asked) =>
    (await store.events.after(...asked)).map(({ epoch: _, ...event }) => event);
  const before: RedisStore['events']['before'] = async (...asked) =>
    (await store.events.before(...asked)).map(({ epoch: _, ...event }) => event);
  return { ...store, events: { ...store.events, after, before } };
}
