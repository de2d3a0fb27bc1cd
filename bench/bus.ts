/**
 * The bus on a real Kafka that it starts itself: how long from `send` to delivery at 200/s, how long an ask takes (a
 * command, and a word back), and how much goes through, one after the other and at once.
 *
 *     npm run bench -- bus [seconds]
 */
import { randomUUID } from 'node:crypto';
import { jsonLog } from '../core/base/log.ts';
import { kafkaBus } from '../runtime/drivers/bus/kafka/index.ts';
import { systemClock } from '../runtime/drivers/clock/system.ts';
import { kafka } from '../test/kit/engines/kafka.ts';

const seconds = Number(process.argv[2] ?? 10);
const rate = 200;
const partitions = 16;
const clock = systemClock();
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

await using engine = await kafka();
const namespace = `b-${randomUUID()}`;
const open = async (node: string) => {
  const log = jsonLog({ level: 'error', now: clock.now, write: (line) => console.error(line) });
  const bus = kafkaBus({ brokers: engine.brokers, namespace, node, partitions, clock, log });
  await bus.open();
  return bus;
};
const [a, b] = [await open('a'), await open('b')];

const waiting = new Map<string, () => void>();
let delivered = 0;
let has = 0;
let isAnswering = true;
await b.own({
  async assigned(_, { next }) {
    has += 1;
    return next;
  },
  revoked: () => {},
  async records(_, records) {
    delivered += records.length;
    for (const { value } of records) {
      waiting.get(value)?.();
      if (isAnswering) void b.tell('a', `answer ${value}`);
    }
  },
});
await a.listen((message) => waiting.get(message)?.());
while (has < partitions) await sleep(50);
await sleep(2000);

const times = { sent: [] as number[], delivered: [] as number[], asked: [] as number[] };
const cpu = process.cpuUsage();
const from = performance.now();
const work: Promise<unknown>[] = [];
for (let n = 0; n < rate * seconds; n++) {
  const wait = from + (n * 1000) / rate - performance.now();
  if (wait > 0) await sleep(wait);
  const value = String(n);
  const at = performance.now();
  const note = (list: number[]) => () => void list.push(performance.now() - at);
  const heard = (word: string, list: number[]) =>
    new Promise<void>((resolve) => {
      waiting.set(word, () => {
        note(list)();
        waiting.delete(word);
        resolve();
      });
    });
  work.push(
    heard(value, times.delivered),
    heard(`answer ${value}`, times.asked),
    a.send({ partition: n % partitions, key: `k${n % 100}`, value }).then(note(times.sent)),
  );
}
await Promise.all(work);
const { user, system } = process.cpuUsage(cpu);
for (const [name, list] of Object.entries(times)) console.log(`${name.padEnd(10)} ${quantiles(list)}`);
console.log(`CPU of both nodes: ${Math.round((user + system) / times.sent.length)} µs a command`);

isAnswering = false;
for (const [name, lanes] of [
  ['one after the other', 1],
  ['64 at once', 64],
  ['2000 at once', 2000],
] as const) {
  const begin = performance.now();
  const before = delivered;
  let count = 0;
  const lane = async () => {
    while (performance.now() - begin < 3000) {
      const n = count++;
      await a.send({ partition: n % partitions, key: 'k', value: `{"n":${n},"text":"${'x'.repeat(200)}"}` });
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  const sent = performance.now() - begin;
  while (delivered < before + count) await sleep(5);
  const all = performance.now() - begin;
  console.log(
    `${name}: ${Math.round((count * 1000) / sent)}/s acknowledged, ${Math.round((count * 1000) / all)}/s delivered`,
  );
}
await Promise.all([a.close(), b.close()]);

function quantiles(list: number[]): string {
  const sorted = list.sort((x, y) => x - y);
  const at = (share: number) => (sorted[Math.floor(sorted.length * share)] ?? Number.NaN).toFixed(1);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, max ${at(0.9999)} ms of ${sorted.length}`;
}
