import type { Log } from '../../core/base/log.ts';
import type { Bus } from '../../core/ports/bus.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { CommitOutcome, Order, Store } from '../../core/ports/store.ts';
import type { ActorTypes } from '../actors/actor-types.ts';
import type { HostOptions } from '../actors/host.ts';
import type { JobQueue } from '../actors/jobs/queue.ts';
import type { StepCounts } from '../actors/step-counts.ts';
import type { FaultData } from './answer.ts';
import type { EventTail } from './event-tail.ts';
import type { HandedOn } from './hand-on.ts';
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
  handOn(entries: readonly HandedOn[]): Promise<void>;
  runOrders(orders: readonly Order[]): void;
  onBuried(): void;
}

/** Remembers, beyond the end of a partition, what cannot be done with a record or a timer. */
export interface Judge {
  verdict(of: number | string): FaultData | undefined;
  condemn(one: number | string, verdict: FaultData): void;
  /** The partition cannot go on from where it stands. */
  onBroken(trouble: Trouble): void;
}

/** Why a partition cannot go on from where it stands. */
export interface Trouble {
  readonly why: Exclude<CommitOutcome['outcome'], 'ok'> | 'failed' | 'bug';
  /** What it came of: the offset of a record, or a timer. */
  readonly at?: number | string;
  /** Another attempt would end alike. */
  readonly isForGood?: boolean;
  readonly error?: unknown;
}
