import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pinSelf, root, temporaryFolder } from './harness/children.ts';
import { clipWords, loadClip } from './harness/clip.ts';
import { machine, percentile, printTable } from './harness/figures.ts';
import { startLoad } from './harness/load.ts';
import { millrace } from './harness/millrace.ts';
import { optionsOf } from './harness/options.ts';
import { percentOf, usageOf } from './harness/process-figures.ts';
import { until } from './harness/subject.ts';
import { webhookReceiver } from './harness/webhook-receiver.ts';
import type { LoopDelays } from './loop-delay-probe.ts';

/**
 * How soon an event is at the receiver, while broadcasts run: from the moment before its commit to the arrival of its
 * first byte, and how late the server's event loop gets. Run: npm run bench -- webhooks [options]
 */
const usage = `  --streams 20      broadcasts on the air
  --events 100      events a second, each of one of 20 streams
  --webhooks 1      webhooks that get each of them
  --seconds 60      length of the measurement
  --warm-up 20      seconds on the air before it
  --server-core 0   core the server runs on, or any`;

const loadCore = 1;
/** Milliseconds over which publishers begin: the key frame interval. */
const startOver = 2000;
/** Streams that the events are of: as many lanes for each webhook. */
const lanes = 20;

const values = optionsOf(usage, {
  streams: 20,
  events: 100,
  webhooks: 1,
  seconds: 60,
  'warm-up': 20,
  'server-core': '0',
});
const { streams, seconds, events: rate } = values;
const core = values['server-core'] === 'any' ? 'any' : Number(values['server-core']);

pinSelf(loadCore);
const receiver = webhookReceiver();
const { delays } = receiver;

const folder = temporaryFolder();
const file = join(folder.path, 'delays.json');
const server = await millrace({
  core,
  streams,
  bunArgs: ['--preload', './bench/loop-delay-probe.ts'],
  env: {
    LOOP_DELAY_FILE: file,
    MILLRACE_PLUGINS: JSON.stringify({ [join(root, 'test/kit/emitter-plugin.ts')]: {} }),
  },
});
for (let n = 0; n < values.webhooks; n += 1) {
  const url = receiver.url + n;
  const answer = await server.call('POST', '/api/webhook', {
    name: `bench ${n}`,
    url,
    events: ['asset.updated'],
  });
  if (answer.status !== 201) throw new Error(`no webhook: ${await answer.text()}`);
}
const load =
  streams > 0
    ? await startLoad(
        { clip: await loadClip(), ingestUrls: server.ingestUrls, playlistUrls: [], startOver },
        { core: loadCore },
      )
    : undefined;
await Bun.sleep(values['warm-up'] * 1000);

await readDelays();
const before = usageOf(server.pid);
const began = performance.now();
const calls: Promise<Response>[] = [];
const count = rate * seconds;
for (let n = 0; n < count; n += 1) {
  const wait = began + (n * 1000) / rate - performance.now();
  if (wait > 0) await Bun.sleep(wait);
  calls.push(
    server.call('POST', '/emit', {
      type: 'asset.updated',
      streams: [`lane-${n % lanes}`],
      from: Math.floor(n / lanes),
    }),
  );
}
const answers = await Promise.all(calls);
const took = (performance.now() - began) / 1000;
const after = usageOf(server.pid);
const loop = await readDelays();
const wanted = count * values.webhooks;
await until('the last deliveries', () => delays.length >= wanted, { within: 10_000, every: 50 }).catch(
  () => {},
);
const report = load?.report;
await load?.stop();
await server.stop();
await receiver.stop();
folder.remove();

printTable(
  ['deliveries', 'commit → receiver p50 ms', 'p99', 'max', 'loop delay p50 ms', 'p99', 'max', 'CPU %'],
  [
    [
      `${delays.length} of ${wanted}`,
      ...[50, 99, 100].map((percent) => percentile(delays, percent).toFixed(0)),
      ...[loop.p50, loop.p99, loop.max].map((ms) => ms.toFixed(2)),
      percentOf(before, after, took).toFixed(1),
    ],
  ],
);
console.log(
  `\n${rate} events/s over ${lanes} streams, ${values.webhooks} webhooks, ${streams} broadcasts of ${clipWords}; ${seconds} s after ` +
    `${values['warm-up']} s; server on core ${core}, receiver and load on core ${loadCore}.\n` +
    'Counted from the moment before the commit, in whole milliseconds, so the commit itself is included.\n' +
    machine(),
);
const failed = answers.filter(({ status }) => status !== 200).length;
if (failed > 0) console.log(`${failed} events could not be emitted`);
if (report && report.publishing !== streams)
  console.log(`only ${report.publishing} of ${streams} publishers were left`);
process.exit(delays.length === wanted && failed === 0 ? 0 : 1);

async function readDelays(): Promise<LoopDelays> {
  rmSync(file, { force: true });
  server.child.kill('SIGUSR1');
  let read: LoopDelays | undefined;
  const isWritten = () => {
    read = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as LoopDelays) : undefined;
    return read !== undefined;
  };
  await until('the loop delays', isWritten, { within: 5000, every: 10 });
  return read as unknown as LoopDelays;
}
