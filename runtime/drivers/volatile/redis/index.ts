import { Fault } from '../../../../core/base/fault.ts';
import type { Log } from '../../../../core/base/log.ts';
import {
  announced,
  checkedEntries,
  checkKeys,
  checkLimit,
  type Json,
  type Volatile,
  type VolatileEntry,
} from '../../../../core/ports/volatile.ts';
import { RedisChannels } from '../../redis/channels.ts';
import { RedisConnection } from '../../redis/connection.ts';
import { redisScript, type ScriptChange } from '../../redis/script.ts';
import { mostEntries } from '../memory.ts';

/** Expired entries that one `set` sweeps. */
const redisSweep = 1000;
/** Entries that are set or listed at one go, while Redis serves no other client. */
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
  const names = [`${prefix}:names`, `${prefix}:ends`];
  const valueKey = (key: string) => `${prefix}:value:${key}`;
  const channel = (topic: string) => `${prefix}:topic:${topic}`;
  const reached = { url, ca, log, unavailable: 'volatile.unavailable' };
  const connection = new RedisConnection(reached);
  const channels = new RedisChannels(reached);
  const setScript = redisScript(new URL('set.lua', import.meta.url), options.change);
  const pageScript = redisScript(new URL('page.lua', import.meta.url), options.change);

  return {
    async set(entries, { lasts }) {
      const texts = checkedEntries(entries, { lasts });
      const values = entries.map(({ key }, index) => ({ key, text: texts[index] as string }));
      const counts = await connection.ask((client) =>
        // All at once, so one trip; in parts, so that Redis has time for others in between.
        Promise.all(
          parts(values, redisPage).map((part) =>
            setScript.run(client, {
              keys: [...names, ...part.map(({ key }) => valueKey(key))],
              args: [
                ...[Math.ceil(lasts), most, redisSweep].map(String),
                ...part.flatMap(({ key, text }) => [key, text]),
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
      checkKeys(keys);
      if (keys.length === 0) return [];
      const texts = await connection.ask((client) => client.mGet(keys.map(valueKey)));
      return texts.map((text) => (text === null ? undefined : JSON.parse(text)));
    },

    async list(prefixOfKeys, { limit }) {
      checkLimit(limit);
      const found: VolatileEntry[] = [];
      let from = `[${prefixOfKeys}`;
      // No key has this character, and all that keys have are below it.
      const to = `(${prefixOfKeys}\x7f`;
      while (found.length < limit) {
        const count = Math.min(redisPage, limit - found.length);
        const [last = '', ...flat] = (await connection.ask((client) =>
          pageScript.run(client, { keys: names, args: [valueKey(''), from, to, `${count}`] }),
        )) as string[];
        for (let index = 0; index < flat.length; index += 2) {
          found.push({ key: flat[index] as string, value: JSON.parse(flat[index + 1] as string) });
        }
        if (last === '') break;
        from = `(${last}`;
      }
      return found;
    },

    async announce(topic, message) {
      const text = announced(topic, message);
      await channels.settled();
      await connection.ask((client) => client.publish(channel(topic), text));
    },

    listen(topic, hear) {
      checkKeys([topic]);
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
