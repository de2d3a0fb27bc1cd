import { Fault } from '../../../../core/base/fault.ts';
import type { Log } from '../../../../core/base/log.ts';
import type { Json, Volatile } from '../../../../core/ports/volatile.ts';
import { RedisChannels } from '../../redis/channels.ts';
import { RedisConnection } from '../../redis/connection.ts';
import { redisScript, type ScriptChange } from '../../redis/script.ts';
import { mostEntries } from '../memory.ts';

/** Expired entries that one `set` sweeps. */
const redisSweep = 1000;
/** Entries that are set at one go, while Redis serves no other client. */
const redisPage = 500;

export interface RedisVolatileOptions {
  /** `redis://` or `rediss://`. */
  readonly url: string;
  /** Authority that signed its certificate, as PEM. Default: those of the system. */
  readonly ca?: string;
  /** Deployments with different ones know nothing of each other. */
  readonly namespace: string;
  readonly log: Log;
  /** Default `volatile.mostEntries`, for all nodes together. */
  readonly entries?: number;
  readonly change?: ScriptChange;
}

/**
 * Facts in Redis, for a deployment of several nodes. Values expire by the clock of Redis. Connects with the first call;
 * Fault `volatile.unavailable` (503) from any call when Redis does not answer in time. Then what it was about may have
 * happened.
 */
export function redisVolatile(options: RedisVolatileOptions): Volatile {
  const { url, ca, namespace, log, entries: most = mostEntries } = options;
  // The braces keep all keys of a deployment together, should Redis be a cluster.
  const prefix = `{${namespace}}:volatile`;
  const ends = `${prefix}:ends`;
  const valueKey = (key: string) => `${prefix}:value:${key}`;
  const channel = (topic: string) => `${prefix}:topic:${topic}`;
  const reached = { url, ca, log, unavailable: 'volatile.unavailable' };
  const connection = new RedisConnection(reached);
  const channels = new RedisChannels(reached);
  const setScript = redisScript(new URL('set.lua', import.meta.url), options.change);

  return {
    async set(entries, { lasts }) {
      const counts = await connection.ask((client) =>
        // All at once, so one trip; in parts, so that Redis has time for others in between.
        Promise.all(
          parts(entries, redisPage).map((part) =>
            setScript.run(client, {
              keys: [ends, ...part.map(({ key }) => valueKey(key))],
              args: [
                ...[Math.ceil(lasts), most, redisSweep].map(String),
                ...part.flatMap(({ key, value }) => [key, JSON.stringify(value)]),
              ],
            }),
          ),
        ),
      );
      const refused = counts.reduce<number>((sum, count) => sum + Number(count), 0);
      if (refused === 0) return;
      const message = `${most} facts are kept already; ${refused} new ones were refused`;
      throw new Fault('volatile.full', { status: 503, message, retryAfter: 5 });
    },

    async get(keys) {
      if (keys.length === 0) return [];
      const texts = await connection.ask((client) => client.mGet(keys.map(valueKey)));
      return texts.map((text) => (text === null ? undefined : JSON.parse(text)));
    },

    async announce(topic, message) {
      // Now: the caller may change it meanwhile.
      const text = JSON.stringify(message);
      await channels.settled();
      await connection.ask((client) => client.publish(channel(topic), text));
    },

    listen(topic, hear) {
      return channels.listen(channel(topic), (text) => hear(JSON.parse(text) as Json));
    },

    async close() {
      await Promise.all([channels.close(), connection.close()]);
    },
  };
}

function parts<Item>(items: readonly Item[], size: number): Item[][] {
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, index) => items.slice(index * size, (index + 1) * size));
}
