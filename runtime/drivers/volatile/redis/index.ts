import { readFileSync } from 'node:fs';
import { Fault } from '../../../../core/base/fault.ts';
import type { Log } from '../../../../core/base/log.ts';
import type { Json, Volatile } from '../../../../core/ports/volatile.ts';
import { type LinkOptions, RedisLink } from '../../redis/link.ts';
import { RedisScripts } from '../../redis/scripts.ts';
import type { RedisPlace } from '../../redis/sentinels.ts';
import { mostEntries } from '../memory.ts';

/** Expired entries that one `set` sweeps. */
const redisSweep = 1000;
/** Entries that are set at one go, while Redis serves no other client. */
const redisPage = 500;
/** How long an answer is waited for, ms. */
const answer = 3000;

export interface RedisVolatileOptions extends RedisPlace {
  /** Deployments with different ones know nothing of each other. */
  readonly namespace: string;
  readonly log: Log;
  /** Default `volatile.mostEntries`, for all nodes together. */
  readonly entries?: number;
  readonly limits?: LinkOptions['limits'];
  /** For tests that break the script on purpose. */
  readonly change?: (name: string, text: string) => string;
}

/**
 * Facts in Redis, for a deployment of several nodes. Values expire by the clock of Redis. Connects with the first call;
 * Fault `volatile.unavailable` (503) from any call when Redis does not answer in time. Then what it was about may have
 * happened.
 */
export function redisVolatile(options: RedisVolatileOptions): Volatile {
  const { namespace, entries: most = mostEntries, change = (_, text) => text } = options;
  // The braces keep all keys of a deployment together, should Redis be a cluster.
  const prefix = `{${namespace}}:volatile`;
  const valueKey = (key: string) => `${prefix}:value:${key}`;
  const channel = (topic: string) => `${prefix}:topic:${topic}`;
  const set = change('set', readFileSync(new URL('set.lua', import.meta.url), 'utf8'));
  const scripts = new RedisScripts({ set });
  const link = new RedisLink({
    ...options,
    limits: { answer, ...options.limits },
    prepare: (ask) => scripts.load(ask),
  });

  return {
    async set(entries, { lasts }) {
      // All at once, so one trip; in parts, so that Redis has time for others in between.
      const counts = parts(entries, redisPage).map((part) =>
        scripts.run(link, {
          name: 'set',
          keys: [`${prefix}:ends`, ...part.map(({ key }) => valueKey(key))],
          values: [
            ...[Math.ceil(lasts), most, redisSweep].map(String),
            ...part.flatMap(({ key, value }) => [key, JSON.stringify(value)]),
          ],
        }),
      );
      const refused = (await Promise.all(counts).catch(unavailable)).reduce<number>(
        (sum, count) => sum + Number(count),
        0,
      );
      if (refused === 0) return;
      const message = `${most} facts are kept already; ${refused} new ones were refused`;
      throw new Fault('volatile.full', { status: 503, message, retryAfter: 5 });
    },

    async get(keys) {
      if (keys.length === 0) return [];
      const texts = await link.read(['MGET', ...keys.map(valueKey)]).catch(unavailable);
      return (texts as (string | null)[]).map((text) => (text === null ? undefined : JSON.parse(text)));
    },

    async announce(topic, message) {
      await link.write(['PUBLISH', channel(topic), JSON.stringify(message)]).catch(unavailable);
    },

    listen(topic, hear) {
      return link.listen(channel(topic), (text) => hear(JSON.parse(text) as Json));
    },

    close: () => link.close(),
  };
}

function unavailable(error: unknown): never {
  if (!(error instanceof Fault)) throw error;
  const { message } = error;
  throw new Fault('volatile.unavailable', { status: 503, message, retryAfter: 1, cause: error });
}

function parts<Item>(items: readonly Item[], size: number): Item[][] {
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, index) => items.slice(index * size, (index + 1) * size));
}
