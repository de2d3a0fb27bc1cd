import { existsSync, readFileSync, rmSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { pinSelf, temporaryFolder } from './harness/children.ts';
import { clipWords, loadClip } from './harness/clip.ts';
import { machine, percentile, printTable } from './harness/figures.ts';
import { startLoad } from './harness/load.ts';
import { type Millrace, millrace } from './harness/millrace.ts';
import { optionsOf } from './harness/options.ts';
import { busiestThreads, percentOf, usageOf } from './harness/process-figures.ts';
import { until } from './harness/subject.ts';
import type { LoopDelays } from './loop-delay-probe.ts';

/**
 * How late the server's event loop gets and how fast its API answers while it takes publishers and durable
 * writes at once. Run: bun bench/load.ts [options]
 */
const usage = `  --streams 50      publishers
  --writes 200      writes a second: nine PATCH of a stream to one POST of a new one
  --record          the streams are recorded
  --seconds 30      length of a measurement
  --warm-up 20      seconds on the air before it
  --server-core 0   core the server runs on, or any
  --nice=0          priority of all of it, -20 (first) to 19
  --rounds 1        how often: quiet, streams alone, writes alone, both`;

const loadCore = 1;
/** Milliseconds over which publishers begin: the key frame interval. */
const startOver = 2000;
/** Streams that are written to, besides those on the air. */
const resting = 50;

const values = optionsOf(usage, {
  streams: 50,
  writes: 200,
  record: false,
  seconds: 30,
  'warm-up': 20,
  'server-core': '0',
  nice: 0,
  rounds: 1,
});
const { streams, seconds, writes: rate } = values;
const core = values['server-core'] === 'any' ? 'any' : Number(values['server-core']);

interface Phase {
  words: string;
  delays: LoopDelays;
  /** Percent of a core; percent of the time that the server was ready to run and others ran. */
  cpu: number;
  waited: number;
  threads: [name: string, percent: number][];
  writes: Writes;
}

interface Writes {
  /** Milliseconds of each, from its sending to its whole answer. */
  latencies: number[];
  errors: string[];
}

pinSelf(loadCore);
// What this program starts inherits it.
setPriority(values.nice);
const clip = await loadClip();
const rows: Phase[] = [];
for (let round = 0; round < values.rounds; round += 1) rows.push(...(await measure()));
printTable(
  [
    '',
    'loop delay p50 ms',
    'p99',
    'p99.9',
    'max',
    'samples',
    'writes/s',
    'answer p50 ms',
    'p99',
    'max',
    'errors',
    'CPU %',
    'waited %',
  ],
  rows.map(({ words, delays, writes, cpu, waited }) => [
    words,
    ...[delays.p50, delays.p99, delays.p999, delays.max].map((ms) => ms.toFixed(2)),
    String(delays.samples),
    (writes.latencies.length / delays.seconds).toFixed(0),
    ...[50, 99, 100].map((percent) =>
      writes.latencies.length > 0 ? percentile(writes.latencies, percent).toFixed(1) : '',
    ),
    String(writes.errors.length),
    cpu.toFixed(1),
    waited.toFixed(1),
  ]),
);
for (const { words, threads } of rows)
  console.log(`${words}: ${threads.map(([name, percent]) => `${name} ${percent.toFixed(1)} %`).join(', ')}`);
const errors = rows.flatMap((row) => row.writes.errors);
for (const error of errors.slice(0, 5)) console.log(`error: ${error}`);
console.log(
  `\n${streams} streams of ${clipWords}${values.record ? ', recorded' : ''}; ${rate} writes/s paced, keep-alive; ${seconds} s each after ${values['warm-up']} s; ` +
    `server on core ${core}, load and API client on core ${loadCore}, priority ${values.nice}.\n` +
    'Loop delay: a timer set every 2 ms from inside, how much later than asked it fires. "quiet" is what the machine\n' +
    'itself does to it; waited: the server was ready to run and others ran.\n' +
    machine(),
);
process.exit(errors.length > 0 ? 1 : 0);

async function measure(): Promise<Phase[]> {
  const folder = temporaryFolder();
  const file = join(folder.path, 'delays.json');
  const server = await millrace({
    core,
    streams,
    record: values.record,
    bunArgs: ['--preload', './bench/loop-delay-probe.ts'],
    env: { LOOP_DELAY_FILE: file },
  });
  const ids: string[] = [];
  for (let n = 0; n < resting; n += 1) ids.push((await server.createStream(`resting ${n}`)).id);
  const phases: Phase[] = [];
  const phase = async (words: string, writes: number) => {
    await readDelays(server, file);
    const before = usageOf(server.pid);
    const from = performance.now();
    const written = writes > 0 ? await write(server, { ids, rate: writes }) : undefined;
    if (!written) await Bun.sleep(seconds * 1000);
    const took = (performance.now() - from) / 1000;
    const after = usageOf(server.pid);
    phases.push({
      words,
      delays: await readDelays(server, file),
      cpu: percentOf(before, after, took),
      waited: ((after.waited - before.waited) / took) * 100,
      threads: busiestThreads(before, after, took),
      writes: written ?? { latencies: [], errors: [] },
    });
  };
  await Bun.sleep(2000);
  await phase('quiet', 0);
  await phase('writes alone', rate);
  const load = await startLoad(
    { clip, ingestUrls: server.ingestUrls, playlistUrls: [], startOver },
    { core: loadCore },
  );
  await Bun.sleep(values['warm-up'] * 1000);
  await phase('streams alone', 0);
  await phase('streams and writes', rate);
  const { publishing, dropped } = load.report;
  await load.stop();
  await server.stop();
  folder.remove();
  if (publishing !== streams || dropped > 0)
    throw new Error(`only ${publishing} of ${streams} publishers were left, ${dropped} tags were dropped`);
  return phases;
}

/** Paced, whether or not the former ones were answered. */
async function write(server: Millrace, options: { ids: readonly string[]; rate: number }): Promise<Writes> {
  const { ids } = options;
  const writes: Writes = { latencies: [], errors: [] };
  const open = new Set<Promise<void>>();
  const one = async (n: number) => {
    const from = performance.now();
    try {
      const answer =
        n % 10 === 9
          ? await server.call('POST', '/api/stream', { name: `made ${n}` })
          : await server.call('PATCH', `/api/stream/${ids[n % ids.length]}`, { name: `changed ${n}` });
      const text = await answer.text();
      if (answer.ok) writes.latencies.push(performance.now() - from);
      else writes.errors.push(`${answer.status} ${text}`);
    } catch (error) {
      writes.errors.push(String(error));
    }
  };
  const from = performance.now();
  for (let n = 0; n < options.rate * seconds; n += 1) {
    const wait = from + (n * 1000) / options.rate - performance.now();
    if (wait > 0) await Bun.sleep(wait);
    const writing = one(n);
    open.add(writing);
    void writing.finally(() => open.delete(writing));
  }
  await Promise.all(open);
  return writes;
}

async function readDelays(server: Millrace, file: string): Promise<LoopDelays> {
  rmSync(file, { force: true });
  server.child.kill('SIGUSR1');
  let delays: LoopDelays | undefined;
  const isWritten = () => {
    delays = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as LoopDelays) : undefined;
    return delays !== undefined;
  };
  await until('the loop delays', isWritten, { within: 5000, every: 10 });
  return delays as unknown as LoopDelays;
}
