import { Fault } from '../../../../core/base/fault.ts';
import type { Log } from '../../../../core/base/log.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import { closedFault, unknownFault, unreachableFault } from '../checks.ts';
import { sending } from './limits.ts';

export interface Outgoing {
  readonly topic: string;
  readonly partition: number;
  readonly key: string | null;
  readonly value: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Records of one partition that are sent together, again and again until Kafka has answered. */
export interface Batch {
  readonly topic: string;
  readonly partition: number;
  readonly records: readonly Outgoing[];
}

/** What became of a batch. */
export type Outcome =
  /** It is on the log, once. `offset` of its first record, where the broker told it. */
  | { readonly kind: 'written'; readonly offset?: number }
  /** Nobody knows: send it again. */
  | { readonly kind: 'unknown' }
  /** It is not on the log, and will never be. */
  | { readonly kind: 'refused'; readonly fault: Fault }
  /** There is no such topic, as far as it is known. */
  | { readonly kind: 'missing' };

/** Resolves in bounded time, with an outcome for each batch. */
export type Transport = (batches: readonly Batch[]) => Promise<readonly Outcome[]>;

/**
 * Sends records in their order, with one request under way. What was sent and not answered is sent again unchanged, and
 * before anything later of its partition: an idempotent producer takes the next batch for a repeat of one that was given up.
 */
export interface Pump {
  /**
   * Resolves when it is on the log. Faults: `bus.full`, `bus.unreachable` (never sent), `bus.unknown`, `bus.closed`.
   * With `orNobody` it also resolves when the topic does not exist.
   */
  send(record: Outgoing, options?: { readonly orNobody?: boolean }): Promise<void>;
  /** Waits a moment for what is under way. */
  close(): Promise<void>;
}

interface Entry {
  readonly record: Outgoing;
  readonly bytes: number;
  readonly due: number;
  readonly orNobody: boolean;
  /** Undefined when its sender has been told. */
  settle: ((fault?: Fault) => void) | undefined;
}

interface Lane {
  readonly waiting: Entry[];
  /** Sent at least once. */
  sent: { readonly batch: Batch; readonly entries: readonly Entry[] } | undefined;
  /** Since when its topic has seemed to be missing. */
  missingSince: number | undefined;
  /** So many of those that wait were refused together: each goes alone, so that only the one to blame is refused. */
  alone: number;
  lastOffset: number;
  retryAt: number;
  failures: number;
}

export function pump(options: {
  transport: Transport;
  clock: Clock;
  log: Log;
  limits?: Partial<typeof sending>;
}): Pump {
  const { transport, clock, log } = options;
  const limits = { ...sending, ...options.limits };
  const lanes = new Map<string, Lane>();
  let count = 0;
  let bytes = 0;
  let isClosing = false;
  let isClosed = false;
  let isRunning = false;
  let wake = () => {};
  let drained = () => {};
  let cancelSweep: (() => void) | undefined;

  const end = (entry: Entry, fault?: Fault) => {
    if (!entry.settle) return;
    count -= 1;
    bytes -= entry.bytes;
    entry.settle(fault);
    entry.settle = undefined;
    if (count === 0) drained();
  };

  /** Tells those that have waited long enough. */
  const sweep = () => {
    const now = clock.now();
    for (const { waiting, sent } of lanes.values()) {
      for (const entry of sent?.entries ?? [])
        if (entry.due <= now) end(entry, unknownFault('Kafka has not answered in time'));
      // All wait equally long, so those that are due come first.
      while (waiting[0] && waiting[0].due <= now)
        end(waiting.shift() as Entry, unreachableFault('Kafka does not answer; this was not sent'));
    }
    cancelSweep = count > 0 ? clock.at(now + limits.sweepInterval, sweep) : undefined;
  };

  const take = (lane: Lane, room: { records: number; bytes: number }): void => {
    const entries: Entry[] = [];
    while (lane.waiting[0] && room.records > 0) {
      if (lane.alone > 0 && entries.length > 0) break;
      const size = lane.waiting[0].bytes;
      // The first record of a request may be larger than its bound.
      if (size > room.bytes && (entries.length > 0 || room.bytes < limits.batchBytes)) break;
      room.records -= 1;
      room.bytes -= size;
      entries.push(lane.waiting.shift() as Entry);
    }
    const first = entries[0];
    if (!first) return;
    lane.alone = Math.max(0, lane.alone - 1);
    const { topic, partition } = first.record;
    const records = entries.map(({ record }) => record);
    lane.sent = { batch: { topic, partition, records }, entries };
  };

  /** Lanes whose batch is to be sent now, within the bounds of one request. */
  const next = (): Lane[] => {
    const now = clock.now();
    const room = { records: limits.batchRecords, bytes: limits.batchBytes };
    const chosen: Lane[] = [];
    for (const [name, lane] of [...lanes]) {
      if (!lane.sent && lane.waiting.length === 0) continue;
      if (lane.retryAt > now) continue;
      if (room.records <= 0 || room.bytes <= 0) break;
      if (lane.sent) {
        room.records -= lane.sent.entries.length;
        room.bytes -= lane.sent.entries.reduce((sum, entry) => sum + entry.bytes, 0);
      } else take(lane, room);
      if (!lane.sent) continue;
      chosen.push(lane);
      // Whoever was chosen goes to the end: no partition is passed over for ever.
      lanes.delete(name);
      lanes.set(name, lane);
    }
    return chosen;
  };

  const note = (lane: Lane, outcome: Outcome): void => {
    const { sent } = lane;
    if (!sent) return;
    const { batch, entries } = sent;
    if (outcome.kind === 'written' && outcome.offset !== undefined) {
      const { offset } = outcome;
      if (offset <= lane.lastOffset) {
        const { topic, partition } = batch;
        const told = { topic, partition, offset, last: lane.lastOffset };
        log.error('the offsets of a partition went back: was its topic made anew?', told);
      }
      lane.lastOffset = offset + entries.length - 1;
    }
    if (outcome.kind === 'refused' && entries.length > 1) {
      // Nothing of it is on the log, so it may be sent otherwise.
      lane.waiting.unshift(...entries.filter(({ settle }) => settle));
      lane.alone = entries.length;
      lane.sent = undefined;
      return;
    }
    lane.missingSince = outcome.kind === 'missing' ? (lane.missingSince ?? clock.now()) : undefined;
    const isMissing = clock.now() - (lane.missingSince ?? clock.now()) >= limits.missingTopic;
    const isNobody = isMissing && entries.every(({ orNobody }) => orNobody);
    if (outcome.kind === 'written' || outcome.kind === 'refused' || isNobody) {
      for (const entry of entries) end(entry, outcome.kind === 'refused' ? outcome.fault : undefined);
      lane.sent = undefined;
      lane.failures = 0;
      lane.retryAt = 0;
      return;
    }
    const wait = Math.min(limits.retryWait * 2 ** lane.failures, limits.longestRetryWait);
    lane.failures = Math.min(lane.failures + 1, 10);
    lane.retryAt = clock.now() + wait;
  };

  const run = async (): Promise<void> => {
    if (isRunning) return;
    isRunning = true;
    try {
      // What is sent in one turn goes together.
      await Promise.resolve();
      while (!isClosed) {
        const chosen = next();
        if (chosen.length === 0) {
          const retries = [...lanes.values()].filter(({ sent, waiting }) => sent || waiting.length > 0);
          if (retries.length === 0) return;
          const at = Math.min(...retries.map(({ retryAt }) => retryAt));
          let cancel = () => {};
          await new Promise<void>((resolve) => {
            wake = resolve;
            cancel = clock.at(at, resolve);
          });
          cancel();
          continue;
        }
        const batches = chosen.flatMap(({ sent }) => sent?.batch ?? []);
        const outcomes = await transport(batches).catch((error) => {
          log.error('a request to Kafka failed in a way that nobody expected', { error });
          return batches.map((): Outcome => ({ kind: 'unknown' }));
        });
        for (const [index, lane] of chosen.entries()) note(lane, outcomes[index] ?? { kind: 'unknown' });
      }
    } finally {
      isRunning = false;
    }
  };

  return {
    send(record, { orNobody = false } = {}) {
      if (isClosing) return Promise.reject(closedFault());
      const name = `${record.topic}/${record.partition}`;
      const size = Buffer.byteLength(record.value) + (record.key?.length ?? 0) + 64;
      const isFull =
        count >= limits.queuedRecords ||
        bytes + size > limits.queuedBytes ||
        (lanes.size >= limits.lanes && !lanes.has(name));
      if (isFull) return Promise.reject(fullFault(count));
      return new Promise((resolve, reject) => {
        const lane = lanes.get(name) ?? {
          ...{ waiting: [], sent: undefined, missingSince: undefined },
          ...{ alone: 0, lastOffset: -1, retryAt: 0, failures: 0 },
        };
        lanes.set(name, lane);
        lane.waiting.push({
          record,
          bytes: size,
          due: clock.now() + limits.patience,
          orNobody,
          settle: (fault) => (fault ? reject(fault) : resolve()),
        });
        count += 1;
        bytes += size;
        cancelSweep ??= clock.at(clock.now() + limits.sweepInterval, sweep);
        wake();
        void run();
      });
    },
    async close() {
      isClosing = true;
      if (count > 0) {
        let cancel = () => {};
        await new Promise<void>((resolve) => {
          drained = resolve;
          cancel = clock.at(clock.now() + limits.closeWait, resolve);
        });
        cancel();
      }
      isClosed = true;
      cancelSweep?.();
      for (const { waiting, sent } of lanes.values()) {
        for (const entry of sent?.entries ?? [])
          end(entry, unknownFault('the bus was closed before Kafka answered'));
        for (const entry of waiting.splice(0)) end(entry, closedFault());
      }
      wake();
    },
  };
}

function fullFault(count: number): Fault {
  const message = `${count} records wait for Kafka already; this one was not sent`;
  return new Fault('bus.full', { status: 503, message, retryAfter: 1 });
}
