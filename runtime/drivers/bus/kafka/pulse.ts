import { regularly } from '../../../../core/base/timing.ts';
import type { LogRange } from '../../../../core/ports/bus.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import type { KafkaAdmin } from './admin.ts';
import { reading } from './limits.ts';

/** What the log of a partition has. */
export interface Seen extends LogRange {
  readonly partition: number;
  /** When Kafka was asked, epoch ms. */
  readonly askedAt: number;
  /** Kafka had answered without trouble for a while: no broker that lost its place, unnoticed, gives the answers. */
  readonly isSettled: boolean;
}

/** Asks Kafka again and again how far the log of each partition goes: the consumer does not tell when it is at the end. */
export interface Pulse {
  /** Since when Kafka answers without a failure, epoch ms. */
  answersSince(): number | undefined;
  stop(): Promise<void>;
}

export function pulse(options: {
  admin: KafkaAdmin;
  topic: string;
  clock: Clock;
  seen: (range: Seen) => void;
}): Pulse {
  const { admin, topic, clock, seen } = options;
  let since: number | undefined;
  const stop = regularly(reading.pulseInterval, {
    clock,
    async work(signal) {
      const askedAt = clock.now();
      const ranges = await admin.ranges(topic);
      if (signal.aborted) return;
      since ??= askedAt;
      const isSettled = askedAt - since >= reading.settling;
      for (const [partition, range] of ranges) seen({ ...range, partition, askedAt, isSettled });
    },
    failed() {
      since = undefined;
    },
  });
  return { answersSince: () => since, stop };
}
