import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { bun, pinSelf, start, temporaryFolder } from './harness/children.ts';
import { clipWords, loadClip } from './harness/clip.ts';
import { machine, median, printTable } from './harness/figures.ts';
import { makeFilm } from './harness/film.ts';
import { startLoad } from './harness/load.ts';
import { millrace } from './harness/millrace.ts';
import { optionsOf } from './harness/options.ts';
import { memoryOf, usageOf } from './harness/process-figures.ts';
import { type Put, putFile } from './harness/put-file.ts';
import { until } from './harness/subject.ts';
import type { LoopDelays } from './loop-delay-probe.ts';

/**
 * How soon an uploaded film can be watched, and what that costs: from its last byte to the answer that says "ready" (looked into,
 * cut for HLS, stored), how fast it is taken against both hashes on one thread over the same file, memory over a large one,
 * and how late the event loop gets, with broadcasts on the air or without.
 * Exit code 1 when a goal is missed. Run: npm run bench -- uploads [options]
 */
const usage = `  --broadcasts 0     on the air meanwhile
  --minutes 5,20     films that are sent, of 2.67 Mb/s: 100 MB for 5 minutes
  --times 9          each of them
  --large 5          GB of one more film, for memory and speed; 0: none
  --large-rate 8     Mb/s of that
  --warm-up 10       seconds on the air before it
  --server-core any  core the server runs on, or any`;

const goals = {
  ready: new Map([
    [5, 1000],
    [20, 2000],
  ]),
  growth: 64,
  p99: 5,
  ratio: 0.5,
};
const loadCore = 1;
/** Milliseconds over which publishers begin: the key frame interval. */
const startOver = 2000;
/** Of the films, Mb/s. */
const rate = 2.67;

const values = optionsOf(usage, {
  broadcasts: 0,
  minutes: '5,20',
  times: 9,
  large: 5,
  'large-rate': 8,
  'warm-up': 10,
  'server-core': 'any',
});
const { broadcasts } = values;
const core = values['server-core'] === 'any' ? 'any' : Number(values['server-core']);

interface Row {
  readonly words: string;
  readonly bytes: number;
  readonly puts: readonly Put[];
  /** Most RSS beyond what it was before, MB. */
  readonly growth: number;
  /** CPU of the server for each GB that was sent, s. */
  readonly cpu: number;
  readonly loop: LoopDelays;
  /** MB/s of both hashes on one thread. */
  readonly hashes: number;
  /** ms; undefined: none. */
  readonly goal?: number;
}

const folder = temporaryFolder();
const delays = join(folder.path, 'delays.json');
pinSelf(loadCore);
const server = await millrace({
  core,
  streams: broadcasts,
  bunArgs: ['--preload', './bench/loop-delay-probe.ts'],
  dataDir: join(folder.path, 'data'),
  env: { LOOP_DELAY_FILE: delays },
});
const load =
  broadcasts > 0
    ? await startLoad(
        { clip: await loadClip(), ingestUrls: server.ingestUrls, playlistUrls: [], startOver },
        { core: loadCore },
      )
    : undefined;
const warmUp = await makeFilm(folder.path, { name: 'warm-up.mp4', rate, seconds: 60 });
for (let n = 0; n < 3; n += 1) await send(warmUp);
if (load) await Bun.sleep(values['warm-up'] * 1000);

const rows: Row[] = [];
for (const minutes of values.minutes.split(',').map(Number)) {
  if (minutes > 0) {
    const film = await makeFilm(folder.path, { name: `${minutes}.mp4`, rate, seconds: minutes * 60 });
    const goal = goals.ready.get(minutes);
    rows.push(await measure(film, { words: `${minutes} min`, times: values.times, goal }));
    rmSync(film.path);
  }
}
const large = values.large * 1e9;
if (large > 0) {
  const film = await makeFilm(folder.path, {
    ...{ name: 'large.mp4', rate: values['large-rate'], bytes: large },
  });
  rows.push(await measure(film, { words: 'large', times: 1 }));
}
const dropped = load?.report.dropped ?? 0;
await load?.stop();
await server.stop();

const speed = ({ puts, bytes }: Row) => median(puts.map(({ seconds }) => bytes / 1e6 / seconds));
const ready = ({ puts }: Row) => puts.map(({ readyAfter }) => readyAfter);
printTable(
  [
    'film',
    'MB',
    'times',
    'ready p50 ms',
    'most',
    'MB/s',
    'of hashes',
    'CPU s/GB',
    'RSS + MB',
    'loop p99 ms',
    'max',
  ],
  rows.map((row) => [
    ...[row.words, (row.bytes / 1e6).toFixed(0), String(row.puts.length)],
    ...[median(ready(row)), Math.max(...ready(row)), speed(row)].map((value) => value.toFixed(0)),
    ...[(speed(row) / row.hashes).toFixed(2), row.cpu.toFixed(1), row.growth.toFixed(0)],
    ...[row.loop.p99, row.loop.max].map((value) => value.toFixed(1)),
  ]),
);
const missed = rows.flatMap((row) => [
  ...(row.goal !== undefined && median(ready(row)) > row.goal
    ? [`${row.words}: ready p50 > ${row.goal} ms`]
    : []),
  ...(row.growth > goals.growth ? [`${row.words}: RSS grew by more than ${goals.growth} MB`] : []),
  ...(row.loop.p99 > goals.p99 ? [`${row.words}: loop delay p99 > ${goals.p99} ms`] : []),
  ...(speed(row) < goals.ratio * row.hashes
    ? [`${row.words}: slower than ${goals.ratio} of the hashes`]
    : []),
]);
console.log(
  `\nready: from the last byte to the answer. Of hashes: its speed against md5 and sha256 of the same file on one thread, which\n` +
    `made ${rows.map(({ hashes }) => hashes.toFixed(0)).join(', ')} MB/s. ${broadcasts} broadcasts of ${clipWords}; ${dropped} dropped.\n` +
    `Server on core ${core}, client and broadcasts on core ${loadCore}. ${machine()}\n` +
    (missed.length > 0 ? `MISSED: ${missed.join('; ')}` : 'Every goal is met.'),
);
folder.remove();
process.exit(missed.length > 0 ? 1 : 0);

interface Film {
  readonly path: string;
  readonly bytes: number;
}

async function measure(film: Film, options: { words: string; times: number; goal?: number }): Promise<Row> {
  const { words, times, goal } = options;
  const before = await hashSpeed(film);
  await readDelays();
  const idle = memoryOf(server.pid).rss;
  let most = idle;
  const watch = setInterval(() => {
    most = Math.max(most, memoryOf(server.pid).rss);
  }, 250);
  const cpu = usageOf(server.pid).cpu;
  const puts: Put[] = [];
  for (let n = 0; n < times; n += 1) puts.push(await send(film));
  const used = usageOf(server.pid).cpu - cpu;
  clearInterval(watch);
  const loop = await readDelays();
  const hashes = (before + (await hashSpeed(film))) / 2;
  const gigabytes = (film.bytes * times) / 1e9;
  const row = {
    words,
    bytes: film.bytes,
    puts,
    growth: (most - idle) / 1e6,
    cpu: used / gigabytes,
    loop,
    hashes,
  };
  return { ...row, ...(goal !== undefined && { goal }) };
}

/** One upload, from the request for its URL to an asset that can be played; then it is deleted. */
async function send({ path, bytes }: Film): Promise<Put> {
  const asked = await server.call('POST', '/api/asset/request-upload', { name: 'bench' });
  const { url, asset } = (await asked.json()) as { url: string; asset: { id: string } };
  const put = await putFile(path, { url, bytes });
  const shown =
    put.status === 200
      ? JSON.parse(put.body.slice(put.body.indexOf('{'), put.body.lastIndexOf('}') + 1))
      : {};
  if (shown.status !== 'ready' || shown.playbackUrl === undefined)
    throw new Error(`the upload was answered with ${put.status} ${put.body.slice(0, 500)}`);
  await server.call('DELETE', `/api/asset/${asset.id}`);
  return put;
}

/** MB/s, on a core that has nothing else to do. */
async function hashSpeed({ path, bytes }: Film): Promise<number> {
  const child = start([bun, 'bench/hash-file.ts', path], { core: 0 });
  if ((await child.exited) !== 0) throw new Error(`the file could not be hashed: ${child.output}`);
  return bytes / 1e3 / Number(child.output);
}

/** What was counted since the last call; of the time before the first one nothing is kept. */
async function readDelays(): Promise<LoopDelays> {
  rmSync(delays, { force: true });
  server.child.kill('SIGUSR1');
  await until('the loop delays', () => existsSync(delays), { within: 5000, every: 10 });
  await Bun.sleep(20);
  return JSON.parse(readFileSync(delays, 'utf8')) as LoopDelays;
}
