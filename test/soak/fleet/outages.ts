import { readFileSync } from 'node:fs';
import { percentile } from '../../../bench/harness/figures.ts';
import { partitions, type Stage } from './stage.ts';

interface Outage {
  readonly name: string;
  begin(on: Stage): Promise<void>;
  /** ms */
  readonly length: number;
  /** Resolves when the engine answers again. */
  end(on: Stage): Promise<void>;
}

/** Everything has to move again so much later, ms. */
const backWithin = 15_000;

const all: Readonly<Record<string, readonly Outage[]>> = {
  kafka: [
    outage('Kafka is stopped for 60 s', 60_000, {
      begin: ({ fleet }) => fleet.kafka.stop(),
      end: ({ fleet }) => fleet.kafka.restart(),
    }),
    outage('Kafka is frozen for 20 s', 20_000, {
      begin: ({ fleet }) => fleet.kafka.freeze(),
      end: async ({ fleet }) => fleet.kafka.thaw(),
    }),
    outage('Kafka is killed and started again', 0, {
      begin: ({ fleet }) => fleet.kafka.kill(),
      end: ({ fleet }) => fleet.kafka.restart(),
    }),
  ],
  redis: [
    outage('Redis is killed and started again', 0, {
      begin: ({ fleet }) => fleet.redis.kill(),
      end: ({ fleet }) => fleet.redis.restart(),
    }),
    outage('Redis is frozen for 10 s', 10_000, {
      begin: ({ fleet }) => fleet.redis.freeze(),
      end: async ({ fleet }) => fleet.redis.thaw(),
    }),
    outage('Redis is killed and away for 30 s', 30_000, {
      begin: ({ fleet }) => fleet.redis.kill(),
      end: ({ fleet }) => fleet.redis.restart(),
    }),
  ],
};

/** Line 4: engines go away and come back. */
export async function outages(
  on: Stage,
  { engine, rounds }: { engine: string; rounds: number },
): Promise<void> {
  const { ledger, fleet } = on;
  for (let round = 0; round < rounds; round += 1) {
    for (const { name, begin, length, end } of all[engine] ?? []) {
      await Bun.sleep(8000 + Math.random() * 2000);
      const before = failuresOf(on);
      const began = performance.now();
      await begin(on);
      await Bun.sleep(length);
      await end(on);
      const back = performance.now();
      const own = await firsts(on, back);
      const readyAt = await readyAfter(on, back);
      const last = Math.max(...own, readyAt);
      if (last > backWithin) ledger.violation(`${name}: it took ${(last / 1000).toFixed(1)} s to move again`);
      console.log(
        `${name}: away ${((back - began) / 1000).toFixed(1)} s; after that the first write by partition: median ${(percentile(own, 50) / 1000).toFixed(1)} s, last ${(Math.max(...own) / 1000).toFixed(1)} s; all nodes ready ${(readyAt / 1000).toFixed(1)} s; answers meanwhile: ${changes(before, failuresOf(on))}`,
      );
    }
  }
  for (const { id, isRunning, logFile } of fleet.nodes) {
    if (!isRunning) ledger.violation(`node ${id} has ended`);
    const dead = readFileSync(logFile, 'utf8')
      .split('\n')
      .find((line) => line.includes('a node is dead'));
    if (dead) ledger.violation(`node ${id} has declared another dead: ${dead}`);
  }
}

function outage(
  name: string,
  length: number,
  { begin, end }: { begin(on: Stage): Promise<void>; end(on: Stage): Promise<void> },
): Outage {
  return { name, length, begin, end };
}

/** ms from then to the first acknowledged write of each partition. */
export async function firsts({ ledger }: Stage, since: number): Promise<number[]> {
  const deadline = performance.now() + 60_000;
  const own: number[] = [];
  for (let partition = 0; partition < partitions; partition += 1) {
    const look = () => ledger.moments.get(partition)?.find((moment) => moment > since);
    let first = look();
    while (first === undefined && performance.now() < deadline) {
      await Bun.sleep(50);
      first = look();
    }
    if (first === undefined) ledger.violation(`no write succeeds in partition ${partition}`);
    own.push((first ?? Number.POSITIVE_INFINITY) - since);
  }
  return own;
}

/** ms from then until every node says that it is ready. */
export async function readyAfter({ fleet }: Stage, since: number): Promise<number> {
  for (const { url } of fleet.nodes) {
    for (const deadline = performance.now() + 60_000; performance.now() < deadline; ) {
      const answer = await fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(5000) }).catch(
        () => undefined,
      );
      if (answer?.ok) break;
      await Bun.sleep(100);
    }
  }
  return performance.now() - since;
}

const failuresOf = ({ ledger }: Stage) => new Map(ledger.figures.statuses);

function changes(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): string {
  const more = [...after].map(([status, times]) => [status, times - (before.get(status) ?? 0)] as const);
  return more
    .filter(([, times]) => times > 0)
    .map(([status, times]) => `${status} × ${times}`)
    .join(', ');
}
