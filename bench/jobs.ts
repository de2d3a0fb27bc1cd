import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from 'redis';
import type { Jobs, QueuedJob, QueuedJobs } from '../core/ports/jobs.ts';
import type { Lease } from '../core/ports/store.ts';
import { bullmqJobs } from '../runtime/drivers/jobs/bullmq/index.ts';
import { sqliteStore } from '../runtime/drivers/store/sqlite/index.ts';
import { redis } from '../test/kit/engines/redis.ts';
import { silentLog } from '../test/kit/silent-log.ts';

/**
 * The queue on BullMQ against BullMQ's own `Worker` and `Queue` on the same Redis in the same run: jobs per second, added
 * and done, and the time from adding a job to its beginning on another connection. The ratios are what counts.
 * Run: bun bench/jobs.ts
 */
const count = 5000;
const rounds = 3;
const starts = 200;
const inFlight = 50;
const kind = 'parcel.deliver';

await using engine = await redis();
const rates = { ours: [] as number[], bare: [] as number[], sqlite: [] as number[] };
const waits = { ours: [] as number[], bare: [] as number[] };
for (let round = 0; round < rounds; round++) {
  rates.bare.push(await bareRate());
  rates.ours.push(await ourRate());
  rates.sqlite.push(await sqliteRate());
  waits.bare.push(...(await bareWaits()));
  waits.ours.push(...(await ourWaits()));
}
console.log(`jobs/s, ${count} added and done, ${inFlight} at a time`);
console.log(`  bullmq alone  ${rates.bare.map(Math.round).join(' ')}`);
console.log(`  ours, bullmq  ${rates.ours.map(Math.round).join(' ')}`);
console.log(`  ours, sqlite  ${rates.sqlite.map(Math.round).join(' ')}`);
console.log(`  ratio         ${(part(rates.ours, 0.5) / part(rates.bare, 0.5)).toFixed(2)}`);
console.log('added to begun, ms, p50 and p99');
console.log(`  bullmq alone  ${part(waits.bare, 0.5).toFixed(2)} ${part(waits.bare, 0.99).toFixed(2)}`);
console.log(`  ours, bullmq  ${part(waits.ours, 0.5).toFixed(2)} ${part(waits.ours, 0.99).toFixed(2)}`);

async function ourRate(): Promise<number> {
  const jobs = open();
  const rate = await rateOf(jobs, (some) => jobs.add(some));
  await jobs.close();
  return rate;
}

/** The queue of an embedded deployment: a file on this disk, each write synced. */
async function sqliteRate(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
  const store = sqliteStore({ file: join(folder, 'store.db') });
  const [lease] = await store.acquire(1);
  let sequence = 0;
  const rate = await rateOf(store.jobs, async (jobs) => {
    const step = {
      ...{ actor: 'a/1', cause: `c${sequence}`, at: Date.now(), state: '{}', version: 1 },
      sequence,
    };
    const none = { rows: [], timers: [], events: [], orders: [], cancels: [] };
    await store.commit({ ...(lease as Lease), ...step, ...none, counter: ++sequence, jobs });
  });
  await store.close();
  rmSync(folder, { recursive: true });
  return rate;
}

async function rateOf(jobs: Jobs, add: (jobs: QueuedJob[]) => Promise<void>): Promise<number> {
  const began = performance.now();
  for (let from = 0; from < count; from += 500) await add(made(500, from));
  let done = 0;
  while (done < count) {
    const now = Date.now();
    const claimed = await jobs.claim(kind, { owner: 'one/a', limit: inFlight, now, until: now + 30_000 });
    await Promise.all(claimed.map(({ id }) => jobs.finish('one/a', id)));
    done += claimed.length;
  }
  return count / ((performance.now() - began) / 1000);
}

async function bareRate(): Promise<number> {
  const { Queue, Worker } = await import('bullmq');
  const { connection, options, close } = await bare();
  const queue = new Queue(kind, options);
  const began = performance.now();
  for (let from = 0; from < count; from += 500) {
    await queue.addBulk(
      made(500, from).map(({ id, input }) => ({
        name: kind,
        data: { input },
        opts: { jobId: id.replaceAll('/', '-'), removeOnComplete: true },
      })),
    );
  }
  let done = 0;
  let onEnd = () => {};
  const ended = new Promise<void>((resolve) => {
    onEnd = resolve;
  });
  const run = async () => {
    done += 1;
    if (done === count) onEnd();
  };
  const worker = new Worker(kind, run, { ...options, connection, concurrency: inFlight });
  await ended;
  const rate = count / ((performance.now() - began) / 1000);
  await worker.close();
  await queue.close();
  close();
  return rate;
}

async function ourWaits(): Promise<number[]> {
  const namespace = randomUUID();
  const [adding, working] = [open(namespace), open(namespace)];
  let onBegun = () => {};
  let isLooking = false;
  let isWanted = false;
  const look = async () => {
    isWanted = true;
    if (isLooking) return;
    isLooking = true;
    while (isWanted) {
      isWanted = false;
      const now = Date.now();
      const claimed = await working.claim(kind, { owner: 'two/a', limit: 10, now, until: now + 30_000 });
      for (const { id } of claimed) {
        onBegun();
        await working.finish('two/a', id);
      }
    }
    isLooking = false;
  };
  // Only the last one can be cut off by the end, and nobody waits for it.
  const end = working.subscribe(() => void look().catch(() => {}));
  const all: number[] = [];
  for (let index = 0; index < starts; index++) {
    const begun = new Promise<void>((resolve) => {
      onBegun = resolve;
    });
    const began = performance.now();
    await adding.add(made(1, index));
    await begun;
    all.push(performance.now() - began);
    await Bun.sleep(5);
  }
  end();
  await adding.close();
  await working.close();
  return all;
}

async function bareWaits(): Promise<number[]> {
  const { Queue, Worker } = await import('bullmq');
  const [one, other] = [await bare(), await bare()];
  let onBegun = () => {};
  const queue = new Queue(kind, { ...one.options, prefix: 'waits' });
  const worker = new Worker(kind, async () => onBegun(), { ...other.options, prefix: 'waits' });
  await worker.waitUntilReady();
  const all: number[] = [];
  for (let index = 0; index < starts; index++) {
    const begun = new Promise<void>((resolve) => {
      onBegun = resolve;
    });
    const began = performance.now();
    await queue.add(kind, { input: '{}' }, { removeOnComplete: true });
    await begun;
    all.push(performance.now() - began);
    await Bun.sleep(5);
  }
  await worker.close();
  await queue.close();
  one.close();
  other.close();
  return all;
}

function open(namespace: string = randomUUID()): QueuedJobs {
  return bullmqJobs({ url: engine.url, namespace, log: silentLog });
}

async function bare() {
  const connection = createClient({ url: engine.url });
  connection.on('error', () => {});
  await connection.connect();
  return {
    connection,
    options: { connection, prefix: randomUUID() },
    close: () => connection.destroy(),
  };
}

function made(number: number, from: number): QueuedJob[] {
  const at = Date.now();
  return Array.from({ length: number }, (_, index) => ({
    ...{ id: `m1.${from + index}/0/${kind}`, kind, actor: 'a/1', child: 'delivery', input: 'x'.repeat(200) },
    ...{ due: at, addedAt: at },
  }));
}

function part(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
}
