import type { createClient } from 'redis';
import { layout } from '../runtime/drivers/store/redis/index.ts';

type Ask = (...command: readonly string[]) => Promise<unknown>;

/**
 * Moves the data of a stopped fleet of 0.1 (shards, jobs of BullMQ) into the keys of today. It may be repeated: what was moved
 * is moved again, and only when all is there the old keys go. Answers how many keys were read; undefined: there is nothing to move.
 */
export async function moveFromShards(
  client: Pick<ReturnType<typeof createClient>, 'sendCommand'>,
  namespace: string,
): Promise<number | undefined> {
  const ask: Ask = (...command) => client.sendCommand([...command]);
  const to = (name: string) => `${namespace}:${name}`;
  const facts = pairs(await ask('HGETALL', `{${namespace}}:facts`));
  if (facts.size === 0 || (await ask('HGET', to('facts'), 'layout')) !== null) return undefined;

  await clear(ask, to);
  const shards = [
    'plain',
    'log',
    ...Array.from({ length: Number(facts.get('partitions') ?? 0) }, (_, p) => String(p)),
  ];
  const tags = [`{${namespace}}:`, ...shards.map((shard) => `{${namespace}.${shard}}:`)];
  const all = await keysOf(ask, `{${namespace}*`);
  const names = all.filter((name) => tags.some((tag) => name.startsWith(tag)));
  const outboxes: string[] = [];
  for (const name of names) {
    const shard = shards.find((one) => name.startsWith(`{${namespace}.${one}}:`));
    if (shard === undefined) continue;
    const what = name.slice(name.indexOf('}:') + 2);
    if (what === 'outbox') outboxes.push(name);
    else
      await moveKey(ask, {
        name,
        to: targetOf(shard, what),
        partition: shard,
        heads: to('heads'),
        prefix: to(''),
      });
  }
  const queues = `{${namespace}}:jobs`;
  for (const kind of (await ask('SMEMBERS', `${queues}.kinds`)) as string[]) {
    await moveJobs(ask, { kind, queue: `${queues}:${encoded(kind)}:`, to });
  }
  await finishOutboxes(ask, { outboxes, to });

  for (const [fact, value] of facts) if (fact !== 'layout') await ask('HSET', to('facts'), fact, value);
  await ask('HSET', to('facts'), 'layout', String(layout));
  // 0.1 refuses it from now on.
  await ask('HSET', `{${namespace}}:facts`, 'layout', String(layout));
  for (const name of names) if (name !== `{${namespace}}:facts`) await ask('UNLINK', name);
  return names.length;
}

/** What a move that was interrupted has put together from several keys: it is made again. Other keys are written over. */
async function clear(ask: Ask, to: (name: string) => string): Promise<void> {
  const made = [
    'heads',
    'cursors',
    'events',
    'event-ids',
    'event-times',
    'jobs',
    'job-attempts',
    'job-kinds',
  ];
  for (const name of made) await ask('UNLINK', to(name));
  for (const many of ['account', 'ready', 'added', 'jobs-of'])
    for (const name of await keysOf(ask, to(`${many}\0*`))) await ask('UNLINK', name);
}

/** What a key of a shard is called now; undefined: it is made of something else. */
function targetOf(shard: string, what: string): string | undefined {
  const isLog = shard === 'log';
  if (what === 'head') return 'heads';
  if (what === 'timers') return `timers\0${shard}`;
  if (what === 'causes') return undefined;
  if (what === 'causes-at') return 'causes';
  if (isLog && what === 'ids') return 'event-ids';
  if (isLog && what === 'at') return 'event-times';
  return what;
}

async function moveKey(
  ask: Ask,
  options: { name: string; to: string | undefined; partition: string; heads: string; prefix: string },
): Promise<void> {
  const { name, to, partition, heads, prefix } = options;
  if (to === undefined) return;
  const target = prefix + to;
  if (to === 'heads') {
    const head = pairs(await ask('HGETALL', name));
    const fields =
      partition === 'log'
        ? { last: 'last' }
        : { epoch: `e${partition}`, offset: `o${partition}`, counter: `c${partition}` };
    for (const [field, moved] of Object.entries(fields)) {
      const value = head.get(field);
      if (value !== undefined) await ask('HSET', heads, moved, value);
    }
    return;
  }
  switch (await ask('TYPE', name)) {
    case 'hash':
      for await (const [field, value] of scanned(ask, 'HSCAN', name)) {
        const isOrder = to === 'orders';
        await ask('HSET', target, field, isOrder ? `${partition} ${value}` : value);
        if (isOrder) await raise(ask, { heads, field: 'orders', to: Number.parseInt(value, 10) });
      }
      return;
    case 'zset':
      for await (const [member, score] of scanned(ask, 'ZSCAN', name))
        await ask('ZADD', target, score, member);
      return;
    case 'stream':
      await ask('DEL', target);
      for (const [id, fields] of (await ask('XRANGE', name, '-', '+')) as [string, string[]][]) {
        await ask('XADD', target, id, ...fields);
      }
  }
}

/** Jobs of one kind: those that somebody had are free, those with a time of their own keep it. */
async function moveJobs(
  ask: Ask,
  { kind, queue, to }: { kind: string; queue: string; to: (name: string) => string },
): Promise<void> {
  const due = new Map<string, number>();
  for await (const [id, score] of scanned(ask, 'ZSCAN', `${queue}delayed`))
    due.set(id, Math.floor(Number(score) / 4096));
  const known: [string, string][] = [];
  for await (const one of scanned(ask, 'ZSCAN', `${queue}added`)) known.push(one);
  for (const [name, addedAt] of known.sort((one, other) => Number(one[1]) - Number(other[1]))) {
    const stored = pairs(await ask('HGETALL', queue + name));
    if (stored.size === 0) continue;
    const { actor, child, input } = JSON.parse(stored.get('data') ?? '{}') as Record<string, string>;
    await addJob(ask, to, {
      ...{ id: decoded(name), kind, actor: actor ?? '', child: child ?? '', input: input ?? '' },
      ...{
        at: Number(addedAt),
        due: due.get(name) ?? Number(addedAt),
        attempts: Number(stored.get('ats') ?? 0),
      },
    });
  }
}

interface MovedJob {
  readonly id: string;
  readonly kind: string;
  readonly actor: string;
  readonly child: string;
  readonly input: string;
  readonly at: number;
  readonly due: number;
  readonly attempts: number;
}

/** As `lua/jobs.lua` keeps it. */
async function addJob(ask: Ask, to: (name: string) => string, job: MovedJob): Promise<void> {
  const { id, kind, actor, child, input, at, due, attempts } = job;
  if ((await ask('HEXISTS', to('jobs'), id)) === 1) return;
  const number = String(await ask('HINCRBY', to('heads'), 'jobs', '1')).padStart(16, '0');
  await ask('HSET', to('jobs'), id, JSON.stringify([number, actor, child, input, String(at)]));
  if (attempts > 0) await ask('HSET', to('job-attempts'), id, String(attempts));
  await ask('ZADD', to(`ready\0${kind}`), String(due), number + id);
  await ask('ZADD', to(`added\0${kind}`), String(at), id);
  await ask('SADD', to(`jobs-of\0${actor}`), id);
  await ask('SADD', to('job-kinds'), kind);
}

async function removeJob(ask: Ask, to: (name: string) => string, id: string): Promise<void> {
  const stored = (await ask('HGET', to('jobs'), id)) as string | null;
  if (stored === null) return;
  const [number = '', actor] = JSON.parse(stored) as string[];
  const kind = id.slice(id.lastIndexOf('/') + 1);
  await ask('HDEL', to('jobs'), id);
  await ask('HDEL', to('job-attempts'), id);
  await ask('ZREM', to(`ready\0${kind}`), number + id);
  await ask('ZREM', to(`added\0${kind}`), id);
  await ask('SREM', to(`jobs-of\0${actor}`), id);
}

/** What commits left and nobody passed on: their jobs and cancels, and their events where the log or the bus lacks them. */
async function finishOutboxes(
  ask: Ask,
  { outboxes, to }: { outboxes: readonly string[]; to: (name: string) => string },
): Promise<void> {
  let last = Number((await ask('HGET', to('heads'), 'last')) ?? 0);
  let published = last;
  for (const name of outboxes) {
    for (const [, [, text]] of (await ask('XRANGE', name, '-', '+')) as [string, string[]][]) {
      const { actor, at, epoch, events, jobs, cancels } = JSON.parse(text ?? '') as OldEntry;
      for (const { id, type, account, stream, body } of events) {
        const known = await ask('HGET', to('event-ids'), id);
        published = Math.min(published, Number(known ?? last + 1) - 1);
        if (known !== null) continue;
        last += 1;
        const fields = [
          'i',
          id,
          't',
          type,
          'a',
          account,
          's',
          stream,
          'b',
          body,
          'at',
          String(at),
          'e',
          String(epoch || ''),
        ];
        await ask('XADD', to('events'), `${last}-0`, ...fields);
        await ask('HSET', to('event-ids'), id, String(last));
        await ask('ZADD', to('event-times'), String(at), String(last));
        await ask('ZADD', to(`account\0${account}`), String(last), String(last));
      }
      for (const { id, kind, child, input, due } of jobs) {
        await addJob(ask, to, { id, kind, actor, child, input, at, due, attempts: 0 });
      }
      for (const id of cancels) await removeJob(ask, to, id);
    }
  }
  await ask('HSET', to('heads'), 'last', String(last));
  await ask('HSET', to('cursors'), 'bus/events', String(published));
}

interface OldEntry {
  readonly actor: string;
  readonly at: number;
  readonly epoch: number;
  readonly events: readonly { id: string; type: string; account: string; stream: string; body: string }[];
  readonly jobs: readonly { id: string; kind: string; child: string; input: string; due: number }[];
  readonly cancels: readonly string[];
}

async function raise(
  ask: Ask,
  { heads, field, to }: { heads: string; field: string; to: number },
): Promise<void> {
  const stored = Number((await ask('HGET', heads, field)) ?? 0);
  if (stored < to) await ask('HSET', heads, field, String(to));
}

async function keysOf(ask: Ask, pattern: string): Promise<string[]> {
  const names = new Set<string>();
  let cursor = '0';
  do {
    const [next, some] = (await ask('SCAN', cursor, 'MATCH', pattern, 'COUNT', '1000')) as [string, string[]];
    for (const name of some) names.add(name);
    cursor = next;
  } while (cursor !== '0');
  return [...names].sort();
}

async function* scanned(
  ask: Ask,
  command: 'HSCAN' | 'ZSCAN',
  name: string,
): AsyncGenerator<[string, string]> {
  let cursor = '0';
  do {
    const [next, values] = (await ask(command, name, cursor, 'COUNT', '1000')) as [string, string[]];
    for (let at = 0; at < values.length; at += 2) yield [values[at] ?? '', values[at + 1] ?? ''];
    cursor = next;
  } while (cursor !== '0');
}

function pairs(values: unknown): Map<string, string> {
  const list = values as string[];
  const map = new Map<string, string>();
  for (let at = 0; at < list.length; at += 2) map.set(list[at] ?? '', list[at + 1] ?? '');
  return map;
}

/** As names of BullMQ have neither colons nor percent signs of ours. */
function encoded(name: string): string {
  return name.replaceAll('%', '%25').replaceAll(':', '%3A');
}

function decoded(name: string): string {
  return name.replaceAll('%3A', ':').replaceAll('%25', '%');
}
