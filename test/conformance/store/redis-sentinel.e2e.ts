import { createClient } from 'redis';
import { describe, expect, test } from 'vitest';
import { type RedisStore, redisStore } from '../../../runtime/drivers/store/redis/index.ts';
import { redisVolatile } from '../../../runtime/drivers/volatile/redis/index.ts';
import { until as waitUntil } from '../../e2e/harness/wait.ts';
import { engineFor } from '../../kit/engines.ts';
import { findFreePorts } from '../../kit/free-ports.ts';
import { startSentinel } from '../../kit/redis-sentinel.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { create, event, row, step } from './fixtures.ts';

const redis = await engineFor('redis');

const until = (what: string, probe: () => Promise<boolean>) => waitUntil(what, probe, { within: 60_000 });

/** A primary and its replica, and a sentinel; the URL names neither. */
async function watched() {
  const primary = await redis.start();
  const replica = await redis.start({ settings: { replicaof: `127.0.0.1 ${primary.port}` } });
  const sentinel = await startSentinel({ name: 'main', port: primary.port });
  const client = createClient({ url: sentinel.url });
  await client.connect();
  const knows = async () => {
    const replicas = (await client.sendCommand(['SENTINEL', 'REPLICAS', 'main'])) as unknown as unknown[];
    return replicas.length === 1;
  };
  await until('the sentinel knows the replica', knows);
  client.destroy();
  return { primary, replica, sentinel };
}

const written = async (store: RedisStore, id: string) =>
  (await create(store, [row({ id })]).catch(() => ({ outcome: 'failed' }))).outcome === 'ok';

const placeOf = ({ url }: { readonly url: string }) => {
  const { hostname, port } = new URL(url);
  return { host: hostname, port: Number(port) };
};

describe.skipIf(redis.isMissing)('a Redis with sentinels', () => {
  test('is found by them, and its replica is when it fails: as after a rollback', async () => {
    const { primary, replica, sentinel } = await watched();
    const [dead = 0] = await findFreePorts(1);
    const options = {
      ...{ url: 'redis://somewhere:1', namespace: 'watched', log: silentLog, master: 'main' },
      sentinels: [{ host: '127.0.0.1', port: dead }, placeOf(sentinel)],
    };
    const [store, volatile] = [redisStore(options), redisVolatile(options)];
    try {
      const [lease] = await store.acquire(1);
      let restarts = 0;
      store.onRestart?.(() => (restarts += 1));
      const heard: unknown[] = [];
      volatile.listen('topic', (message) => heard.push(message));
      const first = step(lease!, { events: [event('before')] });
      expect(await store.commit(first)).toEqual({ outcome: 'ok', events: [1] });
      const client = createClient({ url: primary.url });
      await client.connect();
      expect(await client.sendCommand(['WAIT', '1', '10000'])).toBe(1);
      client.destroy();

      await primary.kill();
      await expect(store.load('a/1')).rejects.toMatchObject({ status: 503 });
      await until('the replica is the primary', () => written(store, 'after'));
      expect(restarts).toBe(1);
      expect(await store.events.after(0, { limit: 10 })).toMatchObject([{ id: 'before', position: 1 }]);
      // Owners go on, with the epoch that they have.
      const next = step(lease!, { actor: 'a/2', cause: 'c2', events: [event('next')] });
      expect(await store.commit(next)).toEqual({ outcome: 'ok', events: [2] });
      await until('an announcement', async () => {
        await volatile.announce('topic', 'after').catch(() => {});
        return heard.includes('after');
      });
      // The former primary comes back as a replica, and nobody takes it for more.
      await primary.restart();
      await until('it follows', async () => {
        const former = createClient({ url: primary.url });
        await former.connect();
        const info = await former.info('replication');
        former.destroy();
        return info.includes('role:slave') && info.includes('master_link_status:up');
      });
      const direct = redisStore({ url: primary.url, namespace: 'watched', log: silentLog });
      await expect(direct.load('a/1')).rejects.toMatchObject({
        code: 'store.unreachable',
        message: expect.stringContaining('replica'),
      });
      await direct.close();
      expect(await written(store, 'last')).toBe(true);
    } finally {
      await Promise.all([store.close(), volatile.close()]);
      for (const engine of [sentinel, replica, primary]) await engine[Symbol.asyncDispose]();
    }
  });

  test('that none of them knows is told by the name, and waited for', async () => {
    const { primary, replica, sentinel } = await watched();
    const store = redisStore({
      ...{ url: 'redis://somewhere:1', log: silentLog, master: 'another' },
      sentinels: [placeOf(sentinel)],
    });
    await expect(store.acquire(1)).rejects.toMatchObject({
      ...{ code: 'store.unreachable', status: 503 },
      message: expect.stringContaining('knows no "another"'),
    });
    await store.close();
    for (const engine of [sentinel, replica, primary]) await engine[Symbol.asyncDispose]();
  });
});
