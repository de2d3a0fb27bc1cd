import { jsonLog } from '../core/base/log.ts';
import type { StepCommit } from '../core/ports/store.ts';
import { type RedisStore, redisStore } from '../runtime/drivers/store/redis/index.ts';
import { redis } from '../test/kit/engines/redis.ts';
import { atDepth, bareLua } from './harness/bare-calls.ts';

/**
 * The store on a Redis of its own: whole steps against the least Lua of that size, and what reads take.
 * Run: npm run bench -- redis-store
 */
const seconds = 2;
const rounds = 3;
const depths = [1, 8, 64];
const partitions = 16;
const rows = 100_000;
let namespaces = 0;
const log = jsonLog({ level: 'error', now: Date.now, write: (line) => console.error(line) });

for (const fsync of ['everysec', 'always'] as const) {
  const engine = await redis({ fsync });
  try {
    for (const depth of depths) {
      const least: number[] = [];
      const plain: number[] = [];
      const whole: number[] = [];
      for (let round = 0; round < rounds; round++) {
        least.push(await bareLua(engine.url, { seconds, depth, partitions }));
        plain.push(await stepRate(engine.url, { depth, events: 0 }));
        whole.push(await stepRate(engine.url, { depth, events: 1 }));
      }
      const ratio = (rates: number[], to: number[]) =>
        median(rates.map((rate, round) => rate / (to[round] ?? Number.NaN))).toFixed(2);
      console.log(`${fsync}, ${depth} in flight, calls/s`);
      console.log(`  six keys, 1 KiB       ${shown(least)}`);
      for (const [name, rates] of Object.entries({ 'a step': plain, 'a step, one event': whole })) {
        console.log(`  ${name.padEnd(22)}${shown(rates)}  ${ratio(rates, least)} of six keys`);
      }
    }
    if (fsync === 'everysec') await reads(engine.url);
  } finally {
    await engine.stop();
    await engine[Symbol.asyncDispose]();
  }
}

async function stepRate(url: string, { depth, events }: { depth: number; events: number }): Promise<number> {
  const store = redisStore({ log, url, namespace: `steps-${depth}-${events}-${++namespaces}` });
  const leases = await store.acquire(partitions);
  const sequences: number[] = [];
  const rate = await atDepth(depth, {
    seconds,
    call: async (index) => {
      const sequence = sequences[index] ?? 0;
      sequences[index] = sequence + 1;
      const { partition, epoch } = leases[index % partitions] as (typeof leases)[number];
      const { outcome } = await store.commit(stepOf({ partition, epoch, index, sequence, events }));
      if (outcome !== 'ok') throw new Error(`a commit was answered ${outcome}`);
    },
  });
  await store.close();
  return rate;
}

async function reads(url: string): Promise<void> {
  const store = redisStore({ log, url, namespace: 'reads' });
  await fill(store);
  const id = () => `s${Math.floor(Math.random() * rows)}`;
  const where = { role: 'parent' };
  const calls: Record<string, () => Promise<unknown>> = {
    'get, plain': () => store.resources.get('key', 'k7'),
    'get, of a step': () => store.resources.get('stream', id()),
    'get, not there': () => store.resources.get('stream', 'never'),
    'find, plain': () => store.resources.find('key', 'hash', 'h7'),
    'find, of a step': () => store.resources.find('stream', 'playbackId', id()),
    'list 20, newest': () => store.resources.list('stream', { account: 'main', where, limit: 21 }),
    'list 100, newest': () => store.resources.list('stream', { account: 'main', where, limit: 101 }),
    'list 1000, newest': () => store.resources.list('stream', { account: 'main', limit: 1001 }),
    'list 100, by name': () =>
      store.resources.list('stream', {
        ...{ account: 'main', order: [{ by: 'name', descending: false }], limit: 101 },
      }),
    'list 10, one in 1000 fits': () =>
      store.resources.list('stream', { filters: [{ path: ['rare'], is: { equals: true } }], limit: 10 }),
    'count by condition': () => store.resources.count('stream', { account: 'main', where }),
  };
  for (const [name, call] of Object.entries(calls)) {
    const taken: number[] = [];
    await call();
    for (const end = performance.now() + 1000; performance.now() < end; ) {
      const begun = performance.now();
      await call();
      taken.push(performance.now() - begun);
    }
    console.log(`${name.padEnd(36)} ms  ${spread(taken)}`);
  }
  await beside(store, 'alone', async () => {});
  await beside(store, 'beside lists of 1000', async () => {
    await store.resources.list('stream', { account: 'main', limit: 1001 });
  });
  // Whether a connection of its own would spare steps the wait.
  const other = redisStore({ log, url, namespace: 'reads' });
  await beside(store, 'those over another connection', async () => {
    await other.resources.list('stream', { account: 'main', limit: 1001 });
  });
  await other.close();
  await store.close();
}

/** What steps take while something else goes on without a pause. */
async function beside(store: RedisStore, what: string, other: () => Promise<void>): Promise<void> {
  const [lease] = await store.acquire(partitions);
  if (!lease) throw new Error('acquire gave no lease');
  const end = performance.now() + 2000;
  const taken: number[] = [];
  const actor = ++namespaces + 1000;
  const steps = async () => {
    for (let sequence = 0; performance.now() < end; sequence++) {
      const begun = performance.now();
      await store.commit(stepOf({ ...lease, index: actor, sequence, events: 0 }));
      taken.push(performance.now() - begun);
      await Bun.sleep(1);
    }
  };
  const others = async () => {
    while (performance.now() < end) {
      await other();
      await Bun.sleep(0);
    }
  };
  await Promise.all([steps(), others()]);
  console.log(`${`a step, ${what}`.padEnd(36)} ms  ${spread(taken)}`);
}

async function fill(store: RedisStore): Promise<void> {
  const leases = await store.acquire(partitions);
  for (let from = 0; from < rows; from += 500) {
    await Promise.all(
      Array.from({ length: 500 }, (_, offset) => {
        const index = from + offset;
        const { partition, epoch } = leases[index % partitions] as (typeof leases)[number];
        return store.commit(stepOf({ partition, epoch, index, sequence: 0, events: 0 }));
      }),
    );
  }
  await store.write({
    ...{ at: 0, events: [] },
    rows: Array.from({ length: 100 }, (_, index) => ({
      ...{
        kind: 'key',
        id: `k${index}`,
        account: 'main',
        createdAt: index,
        name: '',
        body: '{}',
        revision: 0,
      },
      indexes: { hash: `h${index}` },
    })),
  });
}

function stepOf(from: {
  partition: number;
  epoch: number;
  index: number;
  sequence: number;
  events: number;
}): StepCommit {
  const { partition, epoch, index, sequence } = from;
  const actor = `broadcast/s${index}`;
  const at = Date.now();
  const cause = `t${actor}#hold@${sequence}`;
  const body = bodyOf(index);
  return {
    ...{ partition, epoch, actor, cause, at, sequence, state: body, version: 1 },
    rows: [
      {
        ...{ kind: 'stream', id: `s${index}`, account: 'main', createdAt: 1_700_000_000_000 + index },
        ...{ name: `stream ${index % 1000}`, body },
        indexes: { playbackId: `s${index}`, role: 'parent' },
      },
    ],
    timers: [{ name: 'hold', due: at + 60_000 }],
    events: Array.from({ length: from.events }, (_, number) => ({
      ...{ id: `${cause}/${number}`, type: 'stream.started', account: 'main', stream: `s${index}`, body },
    })),
    ...{ orders: [], jobs: [], cancels: [] },
  };
}

function bodyOf(index: number): string {
  return JSON.stringify({ id: `s${index}`, note: 'x'.repeat(470), rare: index % 1000 === 0 });
}

function shown(rates: number[]): string {
  return rates.map((rate) => String(Math.round(rate)).padStart(6)).join('');
}

function spread(values: number[]): string {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (share: number) => (sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN).toFixed(2);
  return `p50 ${at(0.5)}  p99 ${at(0.99)}  max ${at(1)}`;
}

function median(values: number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}
