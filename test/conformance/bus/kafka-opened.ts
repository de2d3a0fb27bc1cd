import { randomUUID } from 'node:crypto';
import { jsonLog } from '../../../core/base/log.ts';
import type { Bus } from '../../../core/ports/bus.ts';
import { type KafkaBusOptions, kafkaBus } from '../../../runtime/drivers/bus/kafka/index.ts';
import { systemClock } from '../../../runtime/drivers/clock/system.ts';
import type { OpenedBus } from './check.ts';

export interface OpenedKafka extends OpenedBus {
  readonly namespace: string;
  readonly log: string[];
  /** The options of a node's bus, for one that is not opened here. */
  options(name: string): KafkaBusOptions;
  close(): Promise<void>;
}

/** A namespace of its own on a running broker. */
export function openedKafka(
  brokers: readonly string[],
  options: {
    partitions?: number;
    more?: Partial<KafkaBusOptions>;
    wrap?: (bus: Bus) => Bus;
    /** ms that are waited for anything. */
    patience?: number;
  } = {},
): OpenedKafka {
  const { partitions = 4, more, wrap = (bus) => bus, patience = 60_000 } = options;
  const namespace = `t-${randomUUID()}`;
  const clock = systemClock();
  const lines: string[] = [];
  const log = jsonLog({
    level: process.env.BUS_LOG ? 'debug' : 'info',
    now: clock.now,
    write(line) {
      lines.push(line);
      if (process.env.BUS_LOG) console.log(line);
    },
  });
  const buses: Bus[] = [];
  const pass = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
  const optionsOf = (name: string): KafkaBusOptions => ({
    brokers,
    namespace,
    node: name,
    partitions,
    clock,
    log: log.with({ node: name }),
    ...more,
  });
  return {
    partitions,
    namespace,
    log: lines,
    options: optionsOf,
    async node(name) {
      const bus = wrap(kafkaBus(optionsOf(name)));
      buses.push(bus);
      await bus.open();
      return bus;
    },
    pass,
    async until(what, holds) {
      const limit = Date.now() + patience;
      while (!holds()) {
        if (Date.now() > limit) throw new Error(`never: ${what}\n${lines.slice(-20).join('\n')}`);
        await pass(10);
      }
    },
    now: clock.now,
    async close() {
      await Promise.all(buses.map((bus) => bus.close()));
    },
  };
}
