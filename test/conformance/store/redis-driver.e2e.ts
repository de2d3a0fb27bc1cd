import { cpSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from 'redis';
import { afterEach, describe, expect, test } from 'vitest';
import type { Lease, StepCommit } from '../../../core/ports/store.ts';
import {
  type RedisStore,
  type RedisStoreOptions,
  redisStore,
} from '../../../runtime/drivers/store/redis/index.ts';
import { until } from '../../e2e/harness/wait.ts';
import { engineFor } from '../../kit/engines.ts';
import { findFreePorts } from '../../kit/free-ports.ts';
import { startCluster } from '../../kit/redis-cluster.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { acquireOne, create, event, row, start, step, write } from './fixtures.ts';
import { tcpProxy } from './tcp-proxy.ts';

const redis = await engineFor('redis');
const stores: RedisStore[] = [];
const clients: { destroy(): void }[] = [];
let number = 0;

afterEach(async () => {
  await Promise.allSettled(stores.splice(0).map((store) => store.close()));
  for (const client of clients.splice(0)) client.destroy();
});

const open = (options: Omit<RedisStoreOptions, 'log'>) => {
  const store = redisStore({ namespace: `driver-${number}`, log: silentLog, ...options });
  stores.push(store);
  return store;
};
const fresh = async (options: Partial<RedisStoreOptions> = {}) => {
  const { url } = await redis.shared();
  number += 1;
  return open({ url, ...options });
};
const clientOf = async (url: string) => {
  const client = createClient({ url });
  client.on('error', () => {});
  clients.push(client);
  await client.connect();
  return client;
};
/** A step of its own actor, with one event and a cause that is remembered. */
const numbered = (lease: Lease, index: number, parts: Partial<StepCommit> = {}) =>
  step(lease, { actor: `a/${index}`, cause: `c${index}`, events: [event(`e${index}`)], ...parts });
const oldData = async () => {
  const engine = await redis.start();
  await (await clientOf(engine.url)).hSet('{older}:facts', 'layout', '2');
  return engine;
};
const fault = (code: string, status: number) => ({ name: 'Fault', code, status });
const quick = { connect: 400, answer: 400, firstPause: 20, longestPause: 100 };

describe.skipIf(redis.isMissing)('the store on Redis', () => {
  describe('refuses a Redis', () => {
    test.each([
      ['without AOF', { aof: false }, {}, /appendonly yes/],
      ['that evicts', { settings: { 'maxmemory-policy': 'allkeys-lru' } }, {}, /noeviction.*allkeys-lru/],
      ['that never syncs', { settings: { appendfsync: 'no' } }, {}, /appendfsync/],
      ['that syncs less than is asked for', {}, { fsync: 'always' }, /always.*everysec/],
    ] as const)('%s, unless losses are allowed', async (_, engine, options, message) => {
      const { url } = await redis.start(engine);
      const store = open({ url, ...options });
      const unsafe = { ...fault('store.unsafe', 500), message: expect.stringMatching(message) };
      await expect(store.acquire(1)).rejects.toMatchObject(unsafe);
      await expect(store.load('a/1')).rejects.toMatchObject(unsafe);
      expect(await open({ url, ...options, allowLoss: true }).acquire(1)).toHaveLength(1);
    });

    test('whose settings must not be asked for, only for what it tells anyway', async () => {
      const [safe, unsafe] = await Promise.all([redis.start(), redis.start({ aof: false })]);
      for (const { url } of [safe, unsafe]) {
        const admin = await clientOf(url);
        await admin.sendCommand(['ACL', 'SETUSER', 'app', 'on', '>secret', '~*', '&*', '+@all', '-config']);
      }
      const as = (url: string, user = 'app:secret') => url.replace('//', `//${user}@`);
      expect(await open({ url: as(safe.url) }).acquire(1)).toHaveLength(1);
      await expect(open({ url: as(unsafe.url) }).acquire(1)).rejects.toMatchObject({ code: 'store.unsafe' });
      await expect(open({ url: as(safe.url), fsync: 'always' }).acquire(1)).rejects.toMatchObject({
        ...{ code: 'store.unsafe' },
      });
      const wrong = open({ url: as(safe.url, 'app:wrong') });
      await expect(wrong.acquire(1)).rejects.toMatchObject(fault('store.refused', 500));
    });

    test.each([
      ['a password where none is asked for', (url: string) => url.replace('//', '//:not-asked-for@')],
      ['a database that there is not', (url: string) => `${url}/9999`],
    ])('of whose URL something is wrong: %s', async (_, change) => {
      const { url } = await redis.shared();
      await expect(open({ url: change(url) }).acquire(1)).rejects.toMatchObject({
        ...fault('store.refused', 500),
        problems: [expect.stringMatching(/^redis\.url: /)],
      });
    });

    test('whose data is of a newer layout', async () => {
      const store = await fresh();
      await store.acquire(1);
      const { url } = await redis.shared();
      await (await clientOf(url)).hSet(`driver-${number}:facts`, 'layout', '4');
      await expect(open({ url }).load('a/1')).rejects.toMatchObject(fault('store.newer', 500));
    });
  });

  test.each([
    ['that is a cluster', () => startCluster(redis), /Cluster/],
    ['with data of 0.1', async () => (await oldData()).url, /migrate/],
  ])('%s is refused', async (what, make, message) => {
    const store = open({ url: await make(), namespace: 'older' });
    const code = what.includes('0.1') ? 'store.older' : 'store.refused';
    await expect(store.load('a/1')).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  });

  test('that cannot be reached is told at once, and used as soon as it is there', async () => {
    const [port = 0] = await findFreePorts(1);
    const store = open({ url: `redis://127.0.0.1:${port}`, limits: quick });
    const away = { ...fault('store.unreachable', 503), retryAfter: 1 };
    await expect(store.acquire(1)).rejects.toMatchObject(away);
    await expect(store.load('a/1')).rejects.toMatchObject(away);
    await redis.start({ ports: [port] });
    await until('the store to be connected', () => store.acquire(1), { within: 20_000 });
  });

  test('that is frozen: calls end in time, and it is used again when it goes on', async () => {
    const engine = await redis.start();
    const store = open({ url: engine.url, limits: quick });
    const lease = await acquireOne(store);
    await store.commit(numbered(lease, 0));
    await engine.freeze();
    const begun = numbered(lease, 1);
    const calls = await Promise.allSettled([
      store.commit(begun),
      store.write(write({ rows: [{ ...row(), revision: 0 }] })),
      store.load('a/0'),
      store.resources.list('stream', { limit: 5 }),
    ]);
    expect(calls).toMatchObject([
      { reason: { ...fault('store.unknown', 503), retryAfter: 1 } },
      { reason: { ...fault('store.unknown', 503), retryAfter: 1 } },
      { reason: { ...fault('store.unreachable', 503), retryAfter: 1 } },
      { reason: { ...fault('store.unreachable', 503), retryAfter: 1 } },
    ]);
    await expect(store.load('a/0')).rejects.toMatchObject({ code: 'store.unreachable' });
    engine.thaw();
    await until('the store to be connected', () => store.load('a/0'), { within: 20_000 });
    // It was in the socket of the frozen process, so it was done after all.
    const again = await until('an answer', () => store.commit(begun), { within: 20_000 });
    expect(again).toEqual({ outcome: 'duplicate' });
    expect(await store.load('a/1')).toMatchObject({ sequence: 1 });
  });

  test('that was started anew is told of; a connection that was only lost is not', async () => {
    const engine = await redis.start();
    const proxy = await tcpProxy(engine.port);
    const store = open({ url: `redis://127.0.0.1:${proxy.port}`, limits: quick });
    const isBack = () => store.load('a/1').then(() => true);
    let told = 0;
    const end = store.onRestart?.(() => {
      told += 1;
    });
    await store.acquire(1);
    proxy.cutAfter(0);
    await store.load('a/1').catch(() => {});
    await until('the store to be connected', isBack, { within: 20_000 });
    expect(told).toBe(0);
    for (const times of [1, 2, 2]) {
      if (told === 2) end?.();
      await engine.kill();
      await store.load('a/1').catch(() => {});
      await engine.restart();
      await until('the store to be connected', isBack, { within: 20_000 });
      expect(told).toBe(times);
    }
    await store.close();
    await proxy.close();
  });

  test('commits that are cut off are known when they come again, and their events are logged once', async () => {
    const { port } = await redis.shared();
    const proxy = await tcpProxy(port);
    number += 1;
    const store = open({ url: `redis://127.0.0.1:${proxy.port}`, limits: quick });
    let lease = await acquireOne(store);
    const count = 60;
    const outcomes = new Set<string>();
    for (let round = 0; round < 6; round++) {
      const commits = Array.from({ length: count }, (_, index) => numbered(lease, round * count + index));
      // In the middle of the commits, or of the calls that log their events.
      proxy.cutAfter(2000 + round * 3000);
      const first = await Promise.allSettled(commits.map((commit) => store.commit(commit)));
      for (const one of first) {
        outcomes.add(one.status === 'fulfilled' ? one.value.outcome : (one.reason as { code: string }).code);
      }
      lease = await until('the partition', () => acquireOne(store), { within: 20_000 });
      for (const commit of commits) {
        const { outcome } = await store.commit({ ...commit, epoch: lease.epoch });
        expect(['ok', 'duplicate']).toContain(outcome);
      }
    }
    expect(outcomes).toContain('store.unknown');
    for (let index = 0; index < 6 * count; index++) {
      expect(await store.load(`a/${index}`)).toMatchObject({ sequence: 1 });
    }
    const logged = await store.events.after(0, { limit: 1000 });
    expect(logged.map(({ id }) => id).toSorted()).toEqual(
      Array.from({ length: 6 * count }, (_, index) => `e${index}`).toSorted(),
    );
    expect(logged.map(({ position }) => position)).toEqual(logged.map((_, index) => index + 1));
    await store.close();
    await proxy.close();
  });

  test('positions of a log that was rolled back do not come again with other events', async () => {
    const own = await redis.start();
    const folder = join(own.folder, 'appendonlydir');
    const store = open({ url: own.url, limits: quick });
    const lease = await acquireOne(store);
    await store.commit(numbered(lease, 1));
    await own.stop();
    cpSync(folder, `${folder}.kept`, { recursive: true });
    await own.restart();
    const again = (index: number) =>
      until('an answer', () => store.commit(numbered(lease, index)), { within: 20_000 });
    expect(await again(2)).toMatchObject({ outcome: 'ok', events: [2] });
    expect(await again(3)).toMatchObject({ outcome: 'ok', events: [3] });
    await own.stop();
    rmSync(folder, { recursive: true });
    renameSync(`${folder}.kept`, folder);
    await own.restart();
    // Another one that comes first, and one that was there before: whoever read up to 3 hears of both.
    expect(await again(4)).toMatchObject({ outcome: 'ok', events: [4] });
    expect(await again(2)).toMatchObject({ outcome: 'ok', events: [5] });
    expect((await store.events.after(3, { limit: 9 })).map(({ id }) => id)).toEqual(['e4', 'e2']);
    expect((await store.events.after(0, { limit: 9 })).map(({ id }) => id)).toEqual(['e1', 'e4', 'e2']);
  });

  test('a Redis that has forgotten the scripts gets them again', async () => {
    const store = await fresh();
    const lease = await acquireOne(store);
    await (await clientOf((await redis.shared()).url)).scriptFlush();
    const commits = [1, 2, 3].map((index) => store.commit(numbered(lease, index)));
    expect(await Promise.all(commits)).toMatchObject([{ events: [1] }, { events: [2] }, { events: [3] }]);
  });

  test('a full memory is told, undone, and survived', async () => {
    const engine = await redis.start();
    const admin = await clientOf(engine.url);
    const store = open({ url: engine.url });
    const lease = await acquireOne(store);
    await store.commit(numbered(lease, 1));
    await admin.configSet('maxmemory', '1');
    const full = fault('store.full', 507);
    await expect(store.commit(numbered(lease, 2))).rejects.toMatchObject(full);
    const ends = numbered(lease, 1, { cause: 'end', sequence: 1, state: null });
    await expect(store.commit(ends)).rejects.toMatchObject(full);
    expect(await store.load('a/1')).toMatchObject({ sequence: 1 });
    await admin.configSet('maxmemory', '0');
    expect(await store.commit(numbered(lease, 2))).toMatchObject({ outcome: 'ok', events: [2] });
    expect(await store.commit(ends)).toMatchObject({ outcome: 'ok' });
  });

  test('too many commands at one time are refused before they are sent', async () => {
    const store = await fresh({ limits: { waiting: 3 } });
    const lease = await acquireOne(store);
    const commits = [1, 2, 3, 4, 5].map((index) => store.commit(step(lease, { actor: `a/${index}` })));
    const outcomes = await Promise.allSettled(commits);
    expect(outcomes.map(({ status }) => status)).toEqual([
      ...['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected'],
    ]);
    expect(outcomes[3]).toMatchObject({ reason: { ...fault('store.busy', 503), retryAfter: 1 } });
    expect(await store.load('a/4')).toBeUndefined();
  });

  test('a step that is no step fails alone, and writes nothing', async () => {
    const store = await fresh();
    const lease = await acquireOne(store);
    const broken = numbered(lease, 2, { rows: [row({ name: null as unknown as string })] });
    const outcomes = await Promise.allSettled([
      ...[numbered(lease, 1), broken, numbered(lease, 3)].map((commit) => store.commit(commit)),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect([await store.load('a/2'), await store.events.last()]).toEqual([undefined, 2]);
    const many = Array.from({ length: 4097 }, (_, index) => row({ id: `s${index}` }));
    await expect(create(store, many)).rejects.toThrow(RangeError);
  });

  test('half a character in a name is stored as what it is in UTF-8, and breaks no script', async () => {
    const store = await fresh();
    await create(store, [row({ name: '\ud83c', indexes: { tag: 'x\udfa5' } })]);
    expect(await store.resources.find('stream', 'tag', 'x\ufffd')).toMatchObject({ name: '\ufffd' });
    expect(await store.resources.list('stream', { limit: 1, where: { tag: 'x\udfa5' } })).toHaveLength(1);
  });

  test('namespaces on one Redis know nothing of each other, and a wrong one is refused', async () => {
    const one = await fresh();
    const lease = await acquireOne(one);
    await one.commit(numbered(lease, 1, { rows: [row()] }));
    const { url } = await redis.shared();
    const other = open({ url, namespace: `driver-${number}-other` });
    expect(await other.acquire(3)).toHaveLength(3);
    expect(await other.load('a/1')).toBeUndefined();
    expect(await other.resources.count('stream', {})).toBe(0);
    expect(await other.events.last()).toBe(0);
    expect(() => redisStore({ url, namespace: 'a}b', log: silentLog })).toThrow(RangeError);
  });

  test('nothing stays behind of rows, timers, causes and events that are gone', async () => {
    const store = await fresh();
    const lease = await acquireOne(store);
    const rows = [row({ indexes: { tag: 'x' } }), row({ id: 's2', account: 'other' })];
    const timers = [{ name: 't', due: start }];
    await store.commit(numbered(lease, 1, { rows, timers, orders: [{ id: 'o', type: 't', body: '{}' }] }));
    const gone = rows.map((one) => ({ ...one, body: null }));
    await store.commit(
      numbered(lease, 1, { cause: 'end', sequence: 1, state: null, rows: gone, events: [] }),
    );
    await store.acknowledge(['o']);
    await store.sweep(start + 1);
    const client = await clientOf((await redis.shared()).url);
    const own = (name: string) => `driver-${number}:${name}`;
    const keys = await client.keys(own('*'));
    // A stream without entries remembers its last number.
    expect(await client.xLen(own('events'))).toBe(0);
    expect(keys.toSorted()).toEqual([own('events'), own('facts'), own('heads')]);
  });

  test('after a close nothing is answered any more, and one that was never used closes', async () => {
    const store = await fresh();
    await store.close();
    await expect(store.load('a/1')).rejects.toMatchObject(fault('store.closed', 503));
    await store.close();
  });
});
