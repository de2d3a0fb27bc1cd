import { randomUUID } from 'node:crypto';
import { afterEach } from 'vitest';
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

/** Opens buses on a broker, by default the shared one, and closes them after each test of the file that calls it. */
export function kafkaOpener(engine: { shared(): Promise<{ brokers: string[] }> }) {
  const opens: OpenedKafka[] = [];
  afterEach(async () => {
    for (const opened of opens.splice(0)) await opened.close();
  });
  return async (
    broker?: { brokers: string[] },
    options?: Parameters<typeof openedKafka>[1],
  ): Promise<OpenedKafka> => {
    const { brokers } = broker ?? (await engine.shared());
    const opened = openedKafka(brokers, options);
    opens.push(opened);
    return opened;
  };
}
