import type { Engine } from '../../kit/engines/engine.ts';
import type { FleetNode } from '../../kit/engines/fleet/node.ts';
import { firsts, readyAfter } from './outages.ts';
import type { Stage } from './stage.ts';

/** Everything has to move again so much later, ms: a frozen node may have to be started again first. */
const backWithin = 30_000;

interface Trouble {
  readonly name: string;
  begin(): Promise<void>;
  /** ms */
  readonly length: number;
  end(): Promise<void>;
}

/** For so many minutes something or other is killed, frozen or stopped: nodes, Kafka, one of its two brokers, Redis. */
export async function chaos(on: Stage, minutes: number): Promise<void> {
  const { ledger } = on;
  const deadline = performance.now() + minutes * 60_000;
  for (let number = 1; performance.now() < deadline; number += 1) {
    await Bun.sleep(5000 + Math.random() * 10_000);
    // Each kind in its turn, in another order every time.
    const { name, begin, length, end } = next(on);
    await begin();
    await Bun.sleep(length);
    await end();
    const back = performance.now();
    const own = await firsts(on, back);
    const ready = await readyAfter(on, back);
    const last = Math.max(...own, ready);
    const [write, all] = [Math.max(...own), ready].map((ms) => `${(ms / 1000).toFixed(1)} s`);
    console.log(`${number}. ${name}, ${Math.round(length / 1000)} s: all write ${write} later, ready ${all}`);
    if (last > backWithin) ledger.violation(`${name}: it took ${(last / 1000).toFixed(1)} s to move again`);
  }
}

const left: Trouble[] = [];

function next(on: Stage): Trouble {
  if (left.length === 0) left.push(...troubles(on).sort(() => Math.random() - 0.5));
  return left.pop()!;
}

function troubles({ fleet, secondBroker }: Stage): Trouble[] {
  const { redis, kafka } = fleet;
  const nodes = [fleet.node('a'), fleet.node('b')];
  return [
    ...nodes.flatMap(ofNode),
    ...[killed(redis, 30_000), killed(redis, 0), frozen(redis, 10_000), stopped(redis, 5000)],
    ...[killed(kafka, 0), frozen(kafka, 20_000), stopped(kafka, 40_000)],
    ...[killed(secondBroker, 20_000), frozen(secondBroker, 20_000), stopped(secondBroker, 10_000)].map(
      (trouble) => ({ ...trouble, name: `one of two brokers: ${trouble.name}` }),
    ),
  ];
}

/** A frozen one is taken for dead after 10 s, and ends when it hears of that. */
function ofNode(node: FleetNode): Trouble[] {
  const back = async () => {
    node.thaw();
    await Promise.race([node.ended, Bun.sleep(8000)]);
    if (!node.isRunning) await node.restart();
  };
  const froze = (length: number) => ({ ...frozen(node, length), end: back });
  return [killed(node, Math.random() * 15_000), stopped(node, 3000), froze(4000), froze(25_000)];
}

function killed(engine: Engine, length: number): Trouble {
  const { name } = engine;
  return { name: `${name} is killed`, length, begin: () => engine.kill(), end: () => engine.restart() };
}

function stopped(engine: Engine, length: number): Trouble {
  const { name } = engine;
  return { name: `${name} is stopped`, length, begin: () => engine.stop(), end: () => engine.restart() };
}

function frozen(engine: Engine, length: number): Trouble {
  const { name } = engine;
  return { name: `${name} is frozen`, length, begin: () => engine.freeze(), end: async () => engine.thaw() };
}
