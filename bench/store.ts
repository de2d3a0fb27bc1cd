import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { StepCommit, Store } from '../core/ports/store.ts';
import { sqliteStore } from '../runtime/drivers/store/sqlite/index.ts';
import { bareCommits } from './harness/bare-calls.ts';

/**
 * The store port against a bare synced commit, what durable writes do to the thread that reads sockets, and a
 * system call trace of a disk sync between each commit and its acknowledgement (where strace is installed).
 * Run: bun bench/store.ts [folder]. The folder should be on the disk that is to be measured.
 */
const seconds = 3;
const rounds = 3;
const inFlight = 64;
const tracedCommits = 200;

if (process.argv[2] === '--traced') await traced(process.argv[3] ?? '');
else await bench(mkdtempSync(join(process.argv[2] ?? tmpdir(), 'millrace-bench-')));

async function bench(folder: string): Promise<void> {
  try {
    const bare: number[] = [];
    const ours: number[] = [];
    for (let round = 0; round < rounds; round++) {
      bare.push(bareCommits(join(folder, `bare-${round}.db`), { seconds }));
      ours.push(await storeRate(join(folder, `store-${round}.db`)));
    }
    const ratio = median(ours.map((rate, round) => rate / (bare[round] ?? Number.NaN)));
    console.log(`bare one-row synced commits/s  ${bare.map(Math.round).join(' ')}`);
    console.log(`store, ${inFlight} actors, commits/s    ${ours.map(Math.round).join(' ')}`);
    console.log(`ratio, median of rounds        ${ratio.toFixed(2)}`);
    for (const rate of [0, 200, 2000]) await loopDelay(rate, join(folder, `loop-${rate}.db`));
    trace(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function storeRate(file: string): Promise<number> {
  const store = sqliteStore({ file });
  const epoch = (await store.acquire(16))[0]?.epoch ?? 0;
  const latencies: number[] = [];
  const start = performance.now();
  const end = start + seconds * 1000;
  const actor = async (index: number) => {
    for (let sequence = 0; performance.now() < end; sequence++) {
      const before = performance.now();
      await commitOk(store, step({ index, sequence, epoch }));
      latencies.push(performance.now() - before);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, (_, index) => actor(index)));
  const rate = latencies.length / ((performance.now() - start) / 1000);
  const log = (statSync(`${file}-wal`).size / 2 ** 20).toFixed(0);
  console.log(`  store commit latency ms        ${spread(latencies)}  write-ahead log ${log} MB`);
  await store.close();
  return rate;
}

/** Commits at a fixed rate, whatever the answers do, and a clock that is looked at every millisecond. */
async function loopDelay(rate: number, file: string): Promise<void> {
  const store = sqliteStore({ file });
  const epoch = (await store.acquire(16))[0]?.epoch ?? 0;
  const delays: number[] = [];
  const latencies: number[] = [];
  const sequences = new Array<number>(inFlight).fill(0);
  const busy = new Set<number>();
  const open: Promise<void>[] = [];
  const start = performance.now();
  let sent = 0;
  let last = start;
  while (last - start < seconds * 2 * 1000) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    const now = performance.now();
    delays.push(Math.max(0, now - last - 1));
    const due = Math.floor(((now - start) / 1000) * rate);
    for (; sent < due; sent++) {
      const index = sent % inFlight;
      // An actor has one step under way at most; a late one means the rate was not kept.
      if (busy.has(index)) break;
      busy.add(index);
      const sequence = sequences[index]++;
      open.push(
        commitOk(store, step({ index, sequence, epoch })).then(() => {
          latencies.push(performance.now() - now);
          busy.delete(index);
        }),
      );
    }
    last = now;
  }
  await Promise.all(open);
  const kept = Math.round(sent / ((last - start) / 1000));
  console.log(`loop delay ms at ${String(kept).padStart(4)} commits/s  ${spread(delays)}`);
  if (rate > 0) console.log(`  commit latency ms            ${spread(latencies)}`);
  await store.close();
}

/** Runs ourselves under strace, and looks for a whole sync between each question and its answer. */
function trace(folder: string): void {
  const output = join(folder, 'trace.txt');
  const { status } = spawnSync(
    'strace',
    ['-f', '-y', '-e', 'trace=fsync,fdatasync,write', '-o', output].concat(process.execPath, [
      import.meta.path,
      '--traced',
      join(folder, 'traced.db'),
    ]),
    { stdio: 'ignore' },
  );
  if (status !== 0) {
    console.log('no system call trace: strace did not run');
    return;
  }
  const asked = new Map<string, number>();
  const syncing = new Map<string, number>();
  const syncs: { from: number; to: number }[] = [];
  let covered = 0;
  let answers = 0;
  for (const [line, text] of readFileSync(output, 'utf8').split('\n').entries()) {
    const thread = text.split(' ')[0] ?? '';
    const mark = /write\(2<.*"(ask|acknowledged) (\d+)\\n"/.exec(text);
    if (/f(data)?sync\(.*-wal>/.test(text)) syncing.set(thread, line);
    if (/f(data)?sync(\(| resumed).*= 0$/.test(text) && syncing.has(thread)) {
      syncs.push({ from: syncing.get(thread) ?? 0, to: line });
      syncing.delete(thread);
    }
    if (mark?.[1] === 'ask') asked.set(mark[2] ?? '', line);
    if (mark?.[1] === 'acknowledged') {
      answers++;
      const from = asked.get(mark[2] ?? '') ?? Number.POSITIVE_INFINITY;
      if (syncs.some((sync) => sync.from > from && sync.to < line)) covered++;
    }
  }
  console.log(`trace: ${answers} commits answered, ${covered} after a sync that began after the call`);
}

/** Eight actors whose calls and answers leave marks in the trace. */
async function traced(file: string): Promise<void> {
  const store = sqliteStore({ file });
  const epoch = (await store.acquire(16))[0]?.epoch ?? 0;
  let number = 0;
  const actor = async (index: number) => {
    for (let sequence = 0; number < tracedCommits; sequence++) {
      const id = number++;
      writeSync(2, `ask ${id}\n`);
      await commitOk(store, step({ index, sequence, epoch }));
      writeSync(2, `acknowledged ${id}\n`);
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, index) => actor(index)));
  await store.close();
}

/** What a session's step looks like: state, row with two indexes, a timer, an event, an order now and then. */
function step(from: { index: number; sequence: number; epoch: number }): StepCommit {
  const actor = `broadcast/b${from.index}`;
  const at = Date.now();
  const cause = `t${actor}#hold@${from.sequence}`;
  const body = JSON.stringify({ id: `b${from.index}`, note: 'x'.repeat(400), n: from.sequence });
  return {
    partition: from.index % 16,
    epoch: from.epoch,
    actor,
    cause,
    at,
    sequence: from.sequence,
    state: body,
    version: 1,
    rows: [
      {
        kind: 'session',
        id: `s${from.index}`,
        account: 'main',
        createdAt: 1_700_000_000_000 + from.index,
        name: 'session',
        body,
        indexes: { stream: `b${from.index}`, active: String(from.sequence % 2) },
      },
    ],
    timers: [{ name: 'hold', due: at + 60_000 }],
    events: [{ id: `${cause}/0`, type: 'stream.started', account: 'main', stream: `b${from.index}`, body }],
    orders: [],
    jobs: [],
    cancels: [],
  };
}

async function commitOk(store: Store, commit: StepCommit): Promise<void> {
  const { outcome } = await store.commit(commit);
  if (outcome !== 'ok') throw new Error(`commit was answered ${outcome}`);
}

function spread(values: number[]): string {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (share: number) => (sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN).toFixed(2);
  return `p50 ${at(0.5)}  p99 ${at(0.99)}  p99.9 ${at(0.999)}  max ${at(1)}`;
}

function median(values: number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}
