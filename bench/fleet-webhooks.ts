import { startFleet } from '../test/kit/engines/fleet/fleet.ts';
import { root } from './harness/children.ts';
import { machine, percentile, printTable } from './harness/figures.ts';
import { optionsOf } from './harness/options.ts';
import { usageOf } from './harness/process-figures.ts';
import { until } from './harness/subject.ts';
import { webhookReceiver } from './harness/webhook-receiver.ts';

/**
 * How soon an event is at the receiver of a webhook on a fleet of two nodes with real Redis and Kafka: from the moment before its
 * commit to the arrival of its first byte. Exit code 1 when 99 of 100 take longer than the goal. Run: npm run bench -- fleet-webhooks [options]
 */
const usage = `  --events 100      events a second, each of one of 20 streams
  --seconds 30      length of the measurement
  --warm-up 5       seconds of events before it`;
const {
  events: rate,
  seconds,
  'warm-up': warmUp,
} = optionsOf(usage, { events: 100, seconds: 30, 'warm-up': 5 });
const lanes = 20;
/** ms. */
const goal = 150;

const receiver = webhookReceiver();
const { delays } = receiver;
const roles = ['api', 'actors', 'worker'] as const;
await using fleet = await startFleet({
  blobs: 'fs',
  nodes: [
    { id: 'a', roles },
    { id: 'b', roles },
  ],
  env: { MILLRACE_PLUGINS: JSON.stringify({ [`${root}/test/kit/emitter-plugin.ts`]: {} }) },
});

async function call(path: string, body: unknown): Promise<Response> {
  const answer = await fetch(fleet.node('a').url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${fleet.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  });
  if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`);
  return answer;
}

/** Emits for so many seconds, from a number on, and waits for all deliveries. Answers how many there were. */
async function emitted(length: number, from: number): Promise<number> {
  const count = rate * length;
  const wanted = delays.length + count;
  const calls: Promise<Response>[] = [];
  const began = performance.now();
  for (let n = 0; n < count; n += 1) {
    const wait = began + (n * 1000) / rate - performance.now();
    if (wait > 0) await Bun.sleep(wait);
    const number = from + Math.floor(n / lanes);
    calls.push(call('/emit', { type: 'asset.updated', streams: [`lane-${n % lanes}`], from: number }));
  }
  await Promise.all(calls);
  await until('the last deliveries', () => delays.length >= wanted, { within: 20_000, every: 50 });
  return count;
}

const { url } = receiver;
await call('/api/webhook', { name: 'bench', url, events: ['asset.updated'] });
await emitted(warmUp, 0);
delays.length = 0;
const processes = [fleet.kafka, fleet.redis, ...fleet.nodes];
const before = processes.map(({ pid }) => usageOf(pid).cpu);
const count = await emitted(seconds, 1_000_000);
const cpu = processes.map(({ pid }, index) => ((usageOf(pid).cpu - before[index]!) * 1000) / count);
await receiver.stop();

printTable(
  ['deliveries', 'commit → receiver p50 ms', 'p99', 'max', 'CPU ms an event: Kafka, Redis, a, b'],
  [
    [
      `${delays.length} of ${count}`,
      ...[50, 99, 100].map((percent) => percentile(delays, percent).toFixed(0)),
      cpu.map((value) => value.toFixed(1)).join(' '),
    ],
  ],
);
console.log(machine());
if (percentile(delays, 99) > goal) {
  console.log(`missed: p99 above ${goal} ms`);
  process.exitCode = 1;
}
