import type { Log } from '../../core/base/log.ts';
import type { Bus } from '../../core/ports/bus.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Order, Store } from '../../core/ports/store.ts';
import type { ActorTypes } from '../actors/actor-types.ts';
import type { HostOptions } from '../actors/host.ts';
import type { JobQueue } from '../actors/jobs/queue.ts';
import type { StepCounts } from '../actors/step-counts.ts';
import type { EventTail } from './event-tail.ts';
import type { Mail } from './mail.ts';

/** What a partition shares with others of its node. */
export interface PartitionParts {
  readonly partition: number;
  /** How many there are. */
  readonly partitions: number;
  readonly store: Store;
  readonly bus: Bus;
  /** Identity of the command log. */
  readonly logId: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly types: ActorTypes;
  /** Of this partition, kept in memory. */
  readonly hotActors: number;
  readonly mail: Mail;
  readonly tail: EventTail;
  readonly work: JobQueue;
  readonly counts?: StepCounts;
  readonly probe?: HostOptions['probe'];
  runOrders(orders: readonly Order[]): void;
  onBuried(): void;
}
