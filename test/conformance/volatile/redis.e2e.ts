import { randomUUID } from 'node:crypto';
import { createClient } from 'redis';
import { afterEach, describe, expect, test } from 'vitest';
import type { Json, Volatile } from '../../../core/ports/volatile.ts';
import { type RedisVolatileOptions, redisVolatile } from '../../../runtime/drivers/volatile/redis/index.ts';
import { until as waitUntil } from '../../e2e/harness/wait.ts';
import { engineFor } from '../../kit/engines.ts';
import { startCluster } from '../../kit/redis-cluster.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { mutants } from './mutants.ts';
import { volatileChecks } from './suite.ts';

const redis = await engineFor('redis');
/** In which a call has to be answered, ms: the driver's own bound, and what this machine may add. */
const bound = 3000;
const answered = bound + 5000;

describe.skipIf(redis.isMissing)('volatile: redis', () => {
  const opened: Volatile[] = [];
  afterEach(async () => {
    for (const volatile of opened.splice(0)) await volatile.close();
  });
  const open = (url: string, options: Partial<RedisVolatileOptions> = {}) => {
    const volatile = redisVolatile({ url, namespace: randomUUID(), log: silentLog, ...options });
    opened.push(volatile);
    return volatile;
  };
  /** Two nodes of one deployment. */
  const openTwo = (url: string, options: Partial<RedisVolatileOptions> = {}) => {
    const namespace = randomUUID();
    return {
      ...{ volatile: open(url, { namespace, ...options }), peer: open(url, { namespace, ...options }) },
      pass: (ms: number) => Bun.sleep(ms),
    };
  };

  test.each(volatileChecks)('$name', async (check) => {
    await check.run(openTwo((await redis.shared()).url));
  });

  // Redis then refuses whatever touches keys of two slots. One node has them all, so the client needs no more.
  let cluster: Promise<string> | undefined;
  test.each(volatileChecks)('where each call must stay in one slot of a cluster: $name', async (check) => {
    cluster ??= startCluster(redis);
    await check.run(openTwo(await cluster));
  });

  test.each([
    'never forgets',
    'keeps the first value',
    'hands one object to all who listen',
    'goes on telling whoever has ended their listening',
    'cannot be closed',
  ])('the suite finds one that %s', async (name) => {
    const { breaks, mutate } = mutants[name] as (typeof mutants)[string];
    const check = volatileChecks.find((one) => one.name === breaks);
    const { volatile, peer, pass } = openTwo((await redis.shared()).url);
    const run = check?.run({ volatile: mutate(volatile), peer: mutate(peer), pass, patience: 500 });
    await expect(run).rejects.toThrow();
  });

  test.each([
    [
      'never forgets',
      'set',
      ", 'PX', ARGV[1])",
      ')',
      'a value is gone when its time is over, and not before',
    ],
  ])('the suite finds one that %s', async (_, script, from, to, breaks) => {
    const change = (name: string, text: string) => {
      if (name === script) expect(text.split(from)).toHaveLength(2);
      return name === script ? text.replace(from, to) : text;
    };
    const check = volatileChecks.find(({ name }) => name === breaks);
    const run = check?.run(openTwo((await redis.shared()).url, { change }));
    await expect(run).rejects.toThrow(/expected/);
  });

  test('deployments with different namespaces know nothing of each other', async () => {
    const { url } = await redis.shared();
    const [one, other] = [open(url), open(url)];
    const heard: Json[] = [];
    other.listen('t/topic', (message) => heard.push(message));
    await one.set([{ key: 't/a', value: 1 }], { lasts: 60_000 });
    await one.announce('t/topic', 'of one');
    expect(await other.get(['t/a'])).toEqual([undefined]);
    await other.announce('t/topic', 'of the other');
    await until('the own announcement', () => heard.length > 0);
    expect(heard).toEqual(['of the other']);
  });

  const numbered = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, index) => ({
      key: `n/${String(from + index).padStart(5, '0')}`,
      value: from + index,
    }));

  test('when it is full, new keys are refused and old ones go on; what is over makes room', async () => {
    const { volatile, peer } = openTwo((await redis.shared()).url, { entries: 3 });
    await volatile.set(numbered(0, 2), { lasts: 60_000 });
    await peer.set(numbered(2, 3), { lasts: 300 });
    const entries = [{ key: 'n/00001', value: 'new' }, ...numbered(3, 5)];
    await expect(peer.set(entries, { lasts: 60_000 })).rejects.toMatchObject({ code: 'volatile.full' });
    expect(await volatile.get(['n/00000', 'n/00001', 'n/00003'])).toEqual([0, 'new', undefined]);
    await until('room', async () => (await peer.get(['n/00002']))[0] === undefined);
    await peer.set(numbered(3, 4), { lasts: 60_000 });
    expect(await volatile.get(['n/00003'])).toEqual([3]);
  });

  test('thousands of entries are set and read in whole, in parts', async () => {
    const volatile = open((await redis.shared()).url);
    const entries = numbered(0, 2345);
    await volatile.set(entries, { lasts: 60_000 });
    expect(await volatile.get(entries.map(({ key }) => key))).toEqual(entries.map(({ value }) => value));
  });

  test('nothing of what is over stays in Redis, also when nobody asks for it', async () => {
    const { url } = await redis.shared();
    const namespace = randomUUID();
    const volatile = open(url, { namespace });
    const raw = createClient({ url });
    await raw.connect();
    const keys = () => raw.keys(`{${namespace}}*`);
    await volatile.set(numbered(0, 700), { lasts: 200 });
    expect(await keys()).toHaveLength(701);
    await until('the end of the values', async () => (await keys()).length <= 1);
    await volatile.set([{ key: 'last', value: 1 }], { lasts: 200 });
    expect(await raw.zCard(`{${namespace}}:volatile:ends`)).toBe(1);
    await until('the end of the last', async () => (await volatile.get(['last']))[0] === undefined);
    expect(await keys()).toHaveLength(1);
    raw.destroy();
  });

  test('a Redis that ends and comes back: 503 meanwhile, then it goes on by itself, listeners too', async () => {
    const engine = await redis.start();
    const { volatile, peer } = openTwo(engine.url);
    const heard: Json[] = [];
    peer.listen('t/topic', (message) => heard.push(message));
    await peer.announce('t/topic', 'before');
    await until('the first announcement', () => heard.length === 1);
    await engine.kill();
    for (const call of calls(volatile)) {
      const began = Date.now();
      await expect(call()).rejects.toMatchObject({
        code: 'volatile.unavailable',
        status: 503,
        retryAfter: 1,
      });
      expect(Date.now() - began).toBeLessThan(answered);
    }
    await engine.restart();
    await until('an answer', () => succeeds(() => volatile.set([{ key: 'a', value: 1 }], { lasts: 60_000 })));
    expect(await volatile.get(['a'])).toEqual([1]);
    await until('an announcement', async () => {
      await volatile.announce('t/topic', 'after').catch(() => {});
      return heard.includes('after');
    });
  });

  test('a Redis that is frozen: 503 within the bound, then it goes on by itself, listeners too', async () => {
    const engine = await redis.start();
    const { volatile, peer } = openTwo(engine.url);
    const heard: Json[] = [];
    peer.listen('t/topic', (message) => heard.push(message));
    await peer.announce('t/topic', 'before');
    await volatile.set([{ key: 'a', value: 1 }], { lasts: 60_000 });
    await engine.freeze();
    const began = Date.now();
    // At the same time: each of them waits as long as one.
    const outcomes = await Promise.allSettled(calls(volatile).map((call) => call()));
    expect(Date.now() - began).toBeLessThan(answered);
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'volatile.unavailable' } });
    // By now it is known to be away, and nobody waits.
    const later = Date.now();
    await expect(volatile.get(['a'])).rejects.toMatchObject({ code: 'volatile.unavailable' });
    expect(Date.now() - later).toBeLessThan(bound);
    await until('the listener to have noticed', () => succeeds(() => refused(peer)));
    engine.thaw();
    await until('an answer', () => succeeds(() => volatile.get(['a'])));
    await until('an announcement', async () => {
      await volatile.announce('t/topic', 'after').catch(() => {});
      return heard.includes('after');
    });
  });

  test('a Redis that was never there: 503 within the bound, and it is used when it comes', async () => {
    const engine = await redis.start();
    await engine.kill();
    const volatile = open(engine.url);
    const began = Date.now();
    await expect(volatile.get(['a'])).rejects.toMatchObject({ code: 'volatile.unavailable' });
    expect(Date.now() - began).toBeLessThan(answered);
    await engine.restart();
    await until('an answer', () => succeeds(() => volatile.get(['a'])));
  });

  test('after its end every call is refused', async () => {
    const volatile = open((await redis.shared()).url);
    await volatile.get(['a']);
    await volatile.close();
    for (const call of calls(volatile))
      await expect(call()).rejects.toMatchObject({ code: 'volatile.unavailable' });
  });
});

const until = (what: string, probe: () => Promise<unknown> | unknown) =>
  waitUntil(what, async () => Boolean(await probe()), { within: 60_000, every: 10 });

const calls = (volatile: Volatile): (() => Promise<unknown>)[] => [
  () => volatile.set([{ key: 'a', value: 1 }], { lasts: 60_000 }),
  () => volatile.get(['a']),
  () => volatile.announce('t/topic', 1),
];

async function refused(volatile: Volatile): Promise<void> {
  await expect(volatile.announce('t/topic', 1)).rejects.toMatchObject({ code: 'volatile.unavailable' });
}

function succeeds(call: () => Promise<unknown>): Promise<boolean> {
  return call().then(
    () => true,
    () => false,
  );
}
