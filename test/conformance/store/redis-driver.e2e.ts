import { cpSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from 'redis';
import { afterEach, describe, expect, test } from 'vitest';
import type { Lease, StepCommit } from '../../../core/ports/store.ts';
import { partitionOf } from '../../../runtime/actors/actor-name.ts';
import {
  type RedisStore,
  type RedisStoreOptions,
  redisStore,
} from '../../../runtime/drivers/store/redis/index.ts';
import { until } from '../../e2e/harness/wait.ts';
import { engineFor } from '../../kit/engines.ts';
import { findFreePorts } from '../../kit/free-ports.ts';
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

const open = (options: RedisStoreOptions) => {
  const store = redisStore({ namespace: `driver-${number}`, ...options });
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
      await (await clientOf(url)).hSet(`{driver-${number}}:facts`, 'layout', '3');
      await expect(open({ url }).load('a/1')).rejects.toMatchObject(fault('store.newer', 500));
    });
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
      proxy.cutAfter(3000 + round * 4000);
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

  test('events that an owner left behind are logged by the next one, in order, once', async () => {
    const isBroken = (text: string) => `if true then return redis.error_reply('STOPPED') end\n${text}`;
    const dying = await fresh({ change: (name, text) => (name === 'append' ? isBroken(text) : text) });
    const leases = await dying.acquire(2);
    const unknown = fault('store.unknown', 503);
    for (const [index, lease] of leases.entries()) {
      for (const event of [1, 2, 3]) {
        const commit = numbered(lease, index * 10 + event);
        await expect(dying.commit(commit)).rejects.toMatchObject(unknown);
      }
    }
    await expect(dying.write(write({ events: [event('plain')] }))).rejects.toMatchObject(unknown);
    const { url } = await redis.shared();
    const next = open({ url });
    const ids = async () => (await next.events.after(0, { limit: 99 })).map(({ id }) => id);
    expect(await ids()).toEqual([]);
    const [lease] = await next.acquire(2, { partitions: [1] });
    if (!lease) throw new Error('a lease expected');
    expect((await ids()).toSorted()).toEqual(['e11', 'e12', 'e13', 'plain']);
    expect((await ids()).filter((id) => id !== 'plain')).toEqual(['e11', 'e12', 'e13']);
    expect(await next.commit(numbered(lease, 14))).toMatchObject({ outcome: 'ok', events: [5] });
    await next.acquire(2);
    expect(await ids()).toHaveLength(8);
    // What a sweep has passed is not logged again, though it is in the outbox yet.
    await next.sweep(start + 1);
    await next.acquire(2);
    expect([await ids(), await next.events.last()]).toEqual([[], 8]);
  });

  test('a write whose events did not get to the log: the next one brings them there first', async () => {
    const store = await fresh({
      // Fails once.
      change: (name, text) =>
        name === 'append'
          ? `if redis.call('INCR', string.sub(KEYS[1], 1, -5) .. 'calls') == 1 then return redis.error_reply('STOPPED') end\n${text}`
          : text,
    });
    const first = store.write(write({ events: [event('e1')] }));
    await expect(first).rejects.toMatchObject(fault('store.unknown', 503));
    expect(await store.write(write({ events: [event('e2')] }))).toMatchObject({ events: [2] });
    expect((await store.events.after(0, { limit: 9 })).map(({ id }) => id)).toEqual(['e1', 'e2']);
  });

  test('what is settled is in the log, also when the commit that left it got no further', async () => {
    const store = await fresh({
      // Fails twice.
      change: (name, text) =>
        name === 'append'
          ? `if redis.call('INCR', string.sub(KEYS[1], 1, -5) .. 'calls') <= 2 then return redis.error_reply('STOPPED') end\n${text}`
          : text,
    });
    const lease = await acquireOne(store);
    const cut = [store.commit(numbered(lease, 1)), store.write(write({ events: [event('e2')] }))];
    await Promise.allSettled(cut);
    expect(await store.commit(numbered(lease, 1))).toEqual({ outcome: 'duplicate' });
    for (const partition of [0, -1]) {
      const entries = await until('the entries', () => store.outbox.pending(partition, { limit: 10 }), {
        within: 20_000,
      });
      expect(entries).toHaveLength(1);
      await store.outbox.settle(
        partition,
        entries.map(({ number: one }) => one),
      );
    }
    const logged = await store.events.after(0, { limit: 9 });
    expect(logged.map(({ id }) => id).toSorted()).toEqual(['e1', 'e2']);
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

  describe('what strangers ask with every request', () => {
    const sixteen = async (url: string) => {
      const store = open({ url });
      const leases = await store.acquire(16);
      const names = { id: '', key: '' };
      for (let n = 0; partitionOf(names.id, 16) !== 5; n += 1) names.id = `s${n}`;
      for (let n = 0; partitionOf(names.key, 16) !== 5; n += 1) names.key = `k${n}`;
      await create(store, [row({ id: 'plain', indexes: { hash: 'h' } })]);
      const rows = [row({ id: names.id, indexes: { key: names.key } })];
      await store.commit(step(leases[5] as Lease, { rows }));
      return { store, ...names };
    };
    const counted = async (url: string, work: () => Promise<unknown>) => {
      const admin = await clientOf(url);
      await admin.configResetStat();
      const answer = await work();
      const stats = await admin.info('commandstats');
      const asked = [...stats.matchAll(/cmdstat_(?:evalsha|hget):calls=(\d+)/g)];
      return { answer, commands: asked.reduce((sum, [, calls]) => sum + Number(calls), 0) };
    };

    test('costs one command, however many partitions there are and whether it is found or not', async () => {
      const { url } = await redis.start();
      const { store, id, key } = await sixteen(url);
      const { get, find } = store.resources;
      const cases: [() => Promise<unknown>, string | undefined, number][] = [
        // A script that finds it reads the row: Redis counts that as well.
        [() => find('stream', 'hash', 'h', { isPlain: true }), 'plain', 2],
        [() => find('stream', 'hash', 'other', { isPlain: true }), undefined, 1],
        [() => get('stream', 'plain', { isPlain: true }), 'plain', 1],
        [() => get('stream', 'never', { isPlain: true }), undefined, 1],
        [() => find('stream', 'key', key, { isBeside: true }), id, 2],
        [() => find('stream', 'key', 'made-up', { isBeside: true }), undefined, 1],
        [() => get('stream', id, { isBeside: true }), id, 1],
        [() => get('stream', 'never', { isBeside: true }), undefined, 1],
      ];
      for (const [work, found, commands] of cases) {
        const asked = await counted(url, work);
        expect(asked.answer && (asked.answer as { id: string }).id).toBe(found);
        expect([String(work), asked.commands]).toEqual([String(work), commands]);
      }
    });

    test('an actor whose partition is known costs one command, also one that there is not yet', async () => {
      const { url } = await redis.start();
      const { store } = await sixteen(url);
      const cases: [() => Promise<unknown>, boolean, number][] = [
        [() => store.load('a/1', 5), true, 1],
        [() => store.load('a/never', 5), false, 1],
        [() => store.load('a/1', 6), false, 1],
      ];
      for (const [work, isThere, commands] of cases) {
        const asked = await counted(url, work);
        expect([asked.answer !== undefined, asked.commands]).toEqual([isThere, commands]);
      }
    });

    test('is looked for everywhere in data from before names lay beside their actors', async () => {
      const { url } = await redis.start();
      const store = open({ url });
      await (await clientOf(url)).hSet(`{driver-${number}}:facts`, 'layout', '1');
      const leases = await store.acquire(16);
      const rows = [row({ id: 's0', indexes: { key: 'k0' } })];
      const elsewhere = leases.find(
        ({ partition }) => partition !== partitionOf('s0', 16) && partition !== partitionOf('k0', 16),
      ) as Lease;
      await store.commit(step(elsewhere, { rows }));
      expect(await store.resources.get('stream', 's0', { isBeside: true })).toMatchObject({ id: 's0' });
      const found = await store.resources.find('stream', 'key', 'k0', { isBeside: true });
      expect(found).toMatchObject({ id: 's0' });
    });
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
    expect(() => redisStore({ url, namespace: 'a}b' })).toThrow(RangeError);
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
    await store.outbox.settle(0, [1]);
    await store.sweep(start + 1);
    const client = await clientOf((await redis.shared()).url);
    const keys = await client.keys(`{driver-${number}*`);
    const streams = [`{driver-${number}.0}:outbox`, `{driver-${number}.log}:events`];
    const heads = [`{driver-${number}.0}:head`, `{driver-${number}.log}:head`, `{driver-${number}}:facts`];
    // A stream without entries remembers its last number.
    for (const stream of streams) expect(await client.xLen(stream)).toBe(0);
    expect(keys.toSorted()).toEqual([...streams, ...heads].toSorted());
  });

  test('after a close nothing is answered any more, and one that was never used closes', async () => {
    const store = await fresh();
    await store.close();
    await expect(store.load('a/1')).rejects.toMatchObject(fault('store.closed', 503));
    await store.close();
  });
});
