import { join, resolve } from 'node:path';
import { kafka } from '../test/kit/engines/kafka.ts';
import { redis } from '../test/kit/engines/redis.ts';
import { bareCommits, bareStep } from './harness/bare-calls.ts';
import { root, start, temporaryFolder } from './harness/children.ts';
import { machine, median, percentile, printTable, spread } from './harness/figures.ts';
import { optionsOf } from './harness/options.ts';
import { usageOf } from './harness/process-figures.ts';
import type { StepLine, StepPlan } from './step-node.ts';

/**
 * Durable steps of a node on real Kafka and Redis: how many a second against a bare Lua call that writes as much, the CPU of all three
 * for each, and how long an ask takes; and of a node alone, against a bare synced commit of one row. The builds take turns. Exit code 1 when a goal is missed.
 * Run: npm run bench -- steps [options]
 */
const usage = `  --rounds 5        turns of each build
  --seconds 3       length of each measurement
  --old             folder of another checkout with a bench/step-node.ts, to be compared with`;
const { rounds, seconds, old } = optionsOf(usage, { rounds: 5, seconds: 3, old: '' });

const loads = [64, 512].flatMap((callers) => [1, 16].map((partitions) => ({ callers, partitions })));
const rate = 200;
/** Of the bare calls, by callers; µs of CPU a step at the most callers; share of that of the old build; ms. */
const goals = { ratio: { 64: 0.3, 512: 0.4 } as Record<number, number>, cpu: 75, share: 0.75, p99: 25 };

interface Figures {
  /** By load. */
  readonly rates: number[][];
  /** µs a step, by load: of Kafka, Redis and the node. */
  readonly cpu: number[][];
  readonly parts: number[][][];
  readonly asks: number[];
}
const none = (): Figures => ({
  rates: loads.map(() => []),
  cpu: loads.map(() => []),
  parts: loads.map(() => [[], [], []]),
  asks: [],
});
interface Build {
  readonly folder: string;
  readonly isAlone?: boolean;
  readonly figures: Figures;
}
const builds = new Map<string, Build>([
  ['this', { folder: root, figures: none() }],
  ['alone', { folder: root, isAlone: true, figures: none() }],
]);
if (old !== '') builds.set('old', { folder: resolve(old), figures: none() });
const bare: Record<number, number[]> = { 64: [], 512: [] };
const synced: number[] = [];
const folder = temporaryFolder();

await using redisEngine = await redis();
await using kafkaEngine = await kafka();
console.log(machine());
for (let round = 0; round < rounds; round += 1) {
  for (const callers of [64, 512])
    bare[callers]!.push(await bareStep(redisEngine.url, { seconds, depth: callers }));
  synced.push(bareCommits(join(folder.path, `bare-${round}.db`), { seconds }));
  // Who is first does so in every other round.
  const turns = [...builds.values()];
  if (round % 2 === 1) turns.reverse();
  for (const turn of turns) await measure(turn);
}

/** One process of a build, all its loads. */
async function measure({ folder: of, isAlone = false, figures }: Build): Promise<void> {
  const engines = { url: redisEngine.url, brokers: kafkaEngine.brokers };
  const shared = { folder: folder.path, loads, seconds, warmUp: 1.5, rate };
  const plan: StepPlan = isAlone ? shared : { ...shared, engines };
  let load = 0;
  let before: number[] = [];
  const node = start(['sh', `${of}/scripts/bun.sh`, `${of}/bench/step-node.ts`, JSON.stringify(plan)], {
    onLine(text) {
      if (!text.startsWith('{"is"')) return console.error(text);
      const line = JSON.parse(text) as StepLine;
      const cpu = [kafkaEngine.pid, redisEngine.pid, node.pid].map((pid) => usageOf(pid).cpu);
      if (line.is === 'begin') before = cpu;
      else if (line.is === 'asks') figures.asks.push(...line.taken);
      else {
        const each = cpu.map((value, part) => ((value - before[part]!) * 1e6) / line.steps);
        figures.rates[load]!.push(line.steps / line.seconds);
        figures.cpu[load]!.push(each.reduce((sum, value) => sum + value, 0));
        for (const [part, value] of each.entries()) figures.parts[load]![part]!.push(value);
        load += 1;
      }
    },
  });
  const code = await node.exited;
  if (code !== 0 || load !== loads.length) throw new Error(`the node of ${of} ended with ${code}`);
}

const missed: string[] = [];
const rows = loads.flatMap(({ callers, partitions }, load) =>
  [...builds].map(([name, { figures }]) => {
    const ratios = figures.rates[load]!.map(
      (value, round) => value / (name === 'alone' ? synced : bare[callers]!)[round]!,
    );
    if (name === 'this' && median(ratios) < goals.ratio[callers]!)
      missed.push(
        `${callers} callers, ${partitions} partitions: less than ${goals.ratio[callers]} of the bare calls`,
      );
    return [
      ...[`${callers} callers, ${partitions} partitions, ${name}`, spread(figures.rates[load]!, 0)],
      ...[spread(ratios, 2), spread(figures.cpu[load]!, 0)],
      figures.parts[load]!.map((values) => median(values).toFixed(0)).join(' '),
    ];
  }),
);
printTable(
  ['steps', 'a second', 'of bare calls', 'CPU µs a step', 'Kafka, Redis, node'],
  [
    ['bare synced commits', spread(synced, 0), '', '', ''],
    ...[64, 512].map((callers) => [`bare Lua, ${callers} at once`, spread(bare[callers]!, 0), '', '', '']),
    ...rows,
  ],
);
printTable(
  [`an ask at ${rate}/s, ms`, 'p50', 'p99'],
  [...builds].map(
    ([
      name,
      {
        figures: { asks },
      },
    ]) => [name, ...[50, 99].map((percent) => percentile(asks, percent).toFixed(1))],
  ),
);
const cpuOf = (name: string) => median(builds.get(name)?.figures.cpu.slice(2).flat() ?? []);
if (cpuOf('this') > goals.cpu) missed.push(`more than ${goals.cpu} µs of CPU a step`);
if (cpuOf('this') > goals.share * cpuOf('old'))
  missed.push(`more than ${goals.share} of the old build's CPU`);
if (percentile(builds.get('this')!.figures.asks, 99) > goals.p99)
  missed.push(`p99 of an ask above ${goals.p99} ms`);
for (const goal of missed) console.log(`missed: ${goal}`);
process.exit(missed.length > 0 ? 1 : 0);
