import { Database } from 'bun:sqlite';
import { createClient } from 'redis';

interface Load {
  readonly seconds: number;
}

/** Commits a second of one row, each synced to disk, on the thread that asks. */
export function bareCommits(file: string, { seconds }: Load): number {
  const db = new Database(file);
  db.run('PRAGMA journal_mode = WAL');
  db.run('PRAGMA synchronous = FULL');
  db.run('CREATE TABLE rows (key INTEGER PRIMARY KEY, body TEXT)');
  const insert = db.prepare('INSERT INTO rows (body) VALUES (?)');
  const body = 'x'.repeat(400);
  const start = performance.now();
  let count = 0;
  for (; performance.now() - start < seconds * 1000; count++) insert.run(body);
  const rate = count / ((performance.now() - start) / 1000);
  db.close();
  return rate;
}

/** Calls a second of the least Lua that writes what a step does: six keys of one slot and 1 KiB of state. */
export async function bareLua(
  url: string,
  { seconds, depth, partitions }: Load & { depth: number; partitions: number },
): Promise<number> {
  const client = await createClient({ url, RESP: 2, commandOptions: { timeout: 0 } }).connect();
  const hash = await client.scriptLoad(`
    local tag = string.sub(KEYS[1], 1, -5)
    if redis.call('HGET', KEYS[1], 'epoch') ~= ARGV[1] then redis.call('HSET', KEYS[1], 'epoch', ARGV[1]) end
    redis.call('HGET', tag .. 'causes', ARGV[2])
    redis.call('HSET', tag .. 'actors', ARGV[3], ARGV[4])
    redis.call('HSET', tag .. 'causes', ARGV[2], 'n')
    redis.call('HSET', tag .. 'timers', ARGV[3], ARGV[5])
    redis.call('HSET', tag .. 'rows', ARGV[3], ARGV[4])
    redis.call('HSET', KEYS[1], 'offset', ARGV[5])
    return { 'ok', '' }`);
  const body = JSON.stringify({ text: 'x'.repeat(1000) });
  let number = 0;
  const rate = await atDepth(depth, {
    seconds,
    call: async (index) => {
      const key = `{least.${index % partitions}}:head`;
      const values = ['1', `c${++number}`, `a/${index}`, body, String(number)];
      await client.sendCommand(['EVALSHA', hash, '1', key, ...values]);
    },
  });
  client.destroy();
  return rate;
}

/**
 * Calls a second of a bare Lua that writes the keys and bytes that a step of `bench/step-node.ts` writes: state, row, timer, event
 * with its indexes, offset. It checks and reads nothing.
 */
export async function bareStep(url: string, { seconds, depth }: Load & { depth: number }): Promise<number> {
  const client = await createClient({ url, RESP: 2, commandOptions: { timeout: 0 } }).connect();
  const hash = await client.scriptLoad(`
    local tag, call = KEYS[1], redis.call
    local actor, state, row, timers, event, body, at = unpack(ARGV)
    local position = call('HINCRBY', tag .. 'heads', 'last', 1)
    call('HSET', tag .. 'heads', 'o0', position)
    call('HSET', tag .. 'actors', actor, state)
    call('HSET', tag .. 'rows', actor, row)
    call('HSET', tag .. 'timers', actor, timers)
    call('XADD', tag .. 'events', position .. '-0', 'i', event, 't', 'counter.counted', 'a', 'a', 's', '', 'b', body, 'at', at, 'e', '1')
    call('HSET', tag .. 'event-ids', event, position)
    call('ZADD', tag .. 'event-times', at, position)
    call('ZADD', tag .. 'account', position, position)
    return { 'ok', tostring(position) }`);
  const state = `1 1 ${JSON.stringify({ text: 'x'.repeat(1024) })}`;
  const body = JSON.stringify({ text: 'x'.repeat(100) });
  let number = 0;
  const rate = await atDepth(depth, {
    seconds,
    call: async (index) => {
      const event = `m0.${++number}/0/counter.counted`;
      const at = String(Date.now());
      const values = [`counter/c${index}`, state, body, `{"after":"${at}"}`, event, body, at];
      await client.sendCommand(['EVALSHA', hash, '1', 'bare:', ...values]);
    },
  });
  await client.flushDb();
  client.destroy();
  return rate;
}

/** Calls a second, so many at a time. */
export async function atDepth(
  depth: number,
  { seconds, call }: Load & { call: (index: number) => Promise<unknown> },
): Promise<number> {
  const begun = performance.now();
  const end = begun + seconds * 1000;
  let count = 0;
  const worker = async (index: number) => {
    for (; performance.now() < end; count++) await call(index);
  };
  await Promise.all(Array.from({ length: depth }, (_, index) => worker(index)));
  return count / ((performance.now() - begun) / 1000);
}
