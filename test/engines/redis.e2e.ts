import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Redis } from '../kit/engines/redis.ts';
import { engineFor } from '../kit/engines.ts';

const redis = await engineFor('redis');

describe.skipIf(redis.isMissing)('a redis-server', () => {
  let engine: Redis;
  let client: ReturnType<typeof clientOf>;
  beforeAll(async () => {
    engine = await redis.shared();
    client = clientOf(engine);
    await client.connect();
  });
  afterAll(() => client?.destroy());

  it('answers, with an append-only file', async () => {
    expect(await client.ping()).toBe('PONG');
    expect(await client.configGet('append*')).toMatchObject({ appendonly: 'yes', appendfsync: 'everysec' });
    expect(await client.configGet('save')).toEqual({ save: '' });
  });

  it('keeps what was written over a kill, on the same port', async () => {
    const [{ pid }, { url }] = [engine, engine];
    await client.set('kept', 'yes');
    await engine.kill();
    expect(engine.isRunning).toBe(false);
    expect(() => engine.pid).toThrow('not running');
    await engine.restart();
    expect(engine.pid).not.toBe(pid);
    expect(engine.url).toBe(url);
    const after = clientOf(engine);
    await after.connect();
    expect(await after.get('kept')).toBe('yes');
    after.destroy();
  });

  it('answers nothing while it is frozen, and goes on afterwards', async () => {
    const other = clientOf(engine);
    await other.connect();
    await engine.freeze();
    const asked = other.ping();
    const first = await Promise.race([asked, Bun.sleep(300).then(() => 'silence')]);
    engine.thaw();
    expect(first).toBe('silence');
    expect(await asked).toBe('PONG');
    other.destroy();
  });

  it('ends when it is asked to while it is frozen', async () => {
    const other = await redis.start();
    await other.freeze();
    await other.stop();
    expect(other.isRunning).toBe(false);
  });

  it('writes to disk before it answers, or not at all, when asked to', async () => {
    const [always, never] = await Promise.all([
      redis.start({ fsync: 'always' }),
      redis.start({ aof: false, settings: { maxmemory: '64mb' } }),
    ]);
    expect(new Set([engine.port, always.port, never.port]).size).toBe(3);
    const [strict, forgetful] = [clientOf(always), clientOf(never)];
    await Promise.all([strict.connect(), forgetful.connect()]);
    expect(await strict.configGet('appendfsync')).toEqual({ appendfsync: 'always' });
    expect(await forgetful.configGet('maxmemory')).toEqual({ maxmemory: String(64 * 1024 ** 2) });
    await forgetful.set('kept', 'no');
    forgetful.destroy();
    await never.kill();
    await never.restart();
    const after = clientOf(never);
    await after.connect();
    expect(await after.get('kept')).toBeNull();
    for (const each of [strict, after]) each.destroy();
  });
});

function clientOf({ url }: Redis) {
  const client = createClient({ url, socket: { reconnectStrategy: false } });
  // A kill is told to every client; what its calls answer is what is looked at.
  client.on('error', () => {});
  return client;
}
