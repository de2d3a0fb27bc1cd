import { readFileSync } from 'node:fs';
import { createClient } from 'redis';
import { describe, expect, test } from 'vitest';
import { redisStore } from '../../../runtime/drivers/store/redis/index.ts';
import { moveFromShards } from '../../../scripts/move-shards.ts';
import { engineFor } from '../../kit/engines.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { start, step } from './fixtures.ts';

const redis = await engineFor('redis');

interface Key {
  readonly key: string;
  readonly type: string;
  readonly value: string[] & [string, string[]][];
}

/** What a fleet of 0.1.0 left: three partitions, plain rows, jobs in every state, and a step whose effects nobody passed on. */
const golden = JSON.parse(
  readFileSync(new URL('../../golden/fleet-0.1.json', import.meta.url), 'utf8'),
) as Key[];

async function oldFleet() {
  const engine = await redis.start();
  const client = createClient({ url: engine.url, RESP: 2 });
  client.on('error', () => {});
  await client.connect();
  for (const { key, type, value } of golden) {
    const put: Record<string, () => Promise<unknown>> = {
      hash: () => client.sendCommand(['HSET', key, ...value]),
      zset: async () => {
        for (let at = 0; at < value.length; at += 2)
          await client.sendCommand(['ZADD', key, value[at + 1]!, value[at]!]);
      },
      list: () => client.sendCommand(['RPUSH', key, ...value]),
      set: () => client.sendCommand(['SADD', key, ...value]),
      string: () => client.sendCommand(['SET', key, String(value)]),
      stream: async () => {
        for (const [id, fields] of value as [string, string[]][])
          await client.sendCommand(['XADD', key, id, ...fields]);
      },
    };
    await put[type]!();
  }
  return { url: engine.url, client };
}

const unnumbered = (values: readonly unknown[]): string[] =>
  values.map((one) => JSON.stringify(one).replace(/0{8}\d{8}/, 'number')).sort();

type Client = Awaited<ReturnType<typeof oldFleet>>['client'];

/** Everything that is there of it now. Jobs of different kinds are numbered in any order. */
async function contents(client: Client): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const key of (await client.keys('old:*')).sort()) {
    const type = await client.type(key);
    const read: Record<string, () => Promise<unknown>> = {
      hash: async () => unnumbered(Object.entries(await client.hGetAll(key))),
      zset: async () => unnumbered(await client.zRangeWithScores(key, 0, -1)),
      set: async () => (await client.sMembers(key)).sort(),
      stream: () => client.sendCommand(['XRANGE', key, '-', '+']),
    };
    found[key] = await read[type]!();
  }
  return found;
}

describe.skipIf(redis.isMissing)('the data of a fleet of 0.1', () => {
  test('is the same after a move that was cut off and repeated', async () => {
    const whole = await oldFleet();
    let commands = 0;
    const counted = {
      sendCommand: (args: string[]) => {
        commands += 1;
        return whole.client.sendCommand(args);
      },
    };
    await moveFromShards(counted as never, 'old');
    const expected = await contents(whole.client);
    for (const share of [0.3, 0.6, 0.7, 0.8]) {
      const { client } = await oldFleet();
      let left = Math.floor(commands * share);
      const cut = {
        sendCommand: async (args: string[]) => {
          left -= 1;
          if (left < 0) throw new Error('cut off');
          return client.sendCommand(args);
        },
      };
      await expect(moveFromShards(cut as never, 'old')).rejects.toThrow('cut off');
      await moveFromShards(client, 'old');
      expect(await contents(client)).toEqual(expected);
      client.destroy();
    }
    whole.client.destroy();
  });

  test('is refused until it is moved; then all of it is there, and 0.1 refuses it', async () => {
    const { url, client } = await oldFleet();
    const store = redisStore({ url, namespace: 'old', log: silentLog });
    await expect(store.acquire(3)).rejects.toMatchObject({ code: 'store.older' });
    // Keys of another deployment, whose name begins alike.
    await client.sendCommand(['HSET', '{old2}:facts', 'layout', '2']);
    expect(await moveFromShards(client, 'old')).toBeGreaterThan(30);
    expect(await moveFromShards(client, 'old')).toBeUndefined();
    expect(await moveFromShards(client, 'never')).toBeUndefined();
    expect((await client.keys('{*')).sort()).toEqual(['{old2}:facts', '{old}:facts']);
    expect(await client.hGet('{old}:facts', 'layout')).toBe('3');

    const next = redisStore({ url, namespace: 'old', log: silentLog });
    await expect(next.acquire(3, { log: 'another' })).rejects.toMatchObject({ code: 'store.log' });
    await expect(next.acquire(4)).rejects.toMatchObject({ code: 'store.partitions' });
    const leases = await next.acquire(3, { log: 'cluster/log' });
    expect(leases.map(({ epoch, counter, offset }) => [epoch, counter, offset])).toEqual([
      [3, 7, 1],
      [3, 7, 1],
      [3, 7, 2],
    ]);
    expect(await next.load('a/0')).toEqual({ state: '{"n":2}', version: 1, sequence: 2 });
    expect(await next.load('a/2')).toEqual({ state: '{"n":3}', version: 1, sequence: 3 });
    const { actors, consumed } = await next.loadAll(['gone/1', 'never/1'], ['named-1', 'm1.0']);
    expect([actors, consumed]).toEqual([new Map([['gone/1', null]]), new Set(['named-1'])]);
    expect((await next.timers([1])).map(({ actor, name, due }) => [actor, name, due - start])).toEqual([
      ['a/1', 't', 60_001],
      ['a/1', 'u', 70_000],
    ]);
    expect((await next.orders([2])).map(({ id, body }) => [id, body])).toEqual([['o2', '{"a":"\\n"}']]);

    const { resources, events, jobs } = next;
    expect((await resources.list('stream', { limit: 9 })).map(({ id }) => id)).toEqual(['s2', 's1', 's0']);
    expect(await resources.list('stream', { account: 'main', where: { tag: 'x' }, limit: 9 })).toHaveLength(
      2,
    );
    expect(await resources.find('stream', 'key', 'k0')).toMatchObject({ id: 's0', name: 'n\u00000' });
    expect(await resources.find('key', 'hash', 'h')).toMatchObject({ id: 'plain' });
    const logged = await events.after(0, { limit: 99 });
    expect(logged.map(({ position }) => position)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(logged.at(-1)).toMatchObject({ id: 'm2.2/1/x' });
    expect((await events.after(0, { account: 'other', limit: 9 })).map(({ id }) => id)).toEqual(['m0.0/0/x']);
    expect([await events.cursor('webhooks'), await events.cursor('bus/events')]).toEqual([2, 7]);

    const now = start + 1000;
    expect(await jobs.totals()).toMatchObject([
      { kind: 'other', count: 1 },
      { kind: 'work', count: 4 },
    ]);
    const claimed = await jobs.claim('work', { owner: 'n/2', limit: 9, now, until: now + 60_000 });
    expect(claimed.map(({ id, attempt, actor }) => [id, attempt, actor])).toEqual([
      ['c1/0/work', 2, 'a/1'],
      ['c3/0/work', 1, 'a/1'],
      ['m2.2/0/work', 1, 'a/2'],
    ]);
    expect(claimed[0]?.input).toBe('{"text":"é\\u0000"}');
    const outcome = await next.commit(
      step(leases[1]!, { actor: 'a/1', sequence: 2, finish: { id: 'c1/0/work', owner: 'n/2' } }),
    );
    expect(outcome).toMatchObject({ outcome: 'ok' });
    const due = start + 9_000_000_000;
    const later = { owner: 'n/3' as const, limit: 9, until: due + 60_000 };
    expect(await jobs.claim('work', { ...later, now: due - 1 })).toHaveLength(2);
    expect(await jobs.claim('work', { ...later, now: due })).toHaveLength(1);
    await Promise.all([store.close(), next.close()]);
    client.destroy();
  });
});
