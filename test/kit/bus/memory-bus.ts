import { Fault, hasCode } from '../../../core/base/fault.ts';
import type { Log } from '../../../core/base/log.ts';
import type { Bus, PartitionOwner } from '../../../core/ports/bus.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import {
  checkCount,
  checkPartition,
  checkRecord,
  checkValue,
  closedFault,
  unknownFault,
  unreachableFault,
} from '../../../runtime/drivers/bus/checks.ts';
import { Holding } from '../../../runtime/drivers/bus/holding.ts';
import type { MemoryBroker } from './broker.ts';

/** How long a node that is cut off waits for the answer to what it sent, ms. */
const sendTimeout = 5000;
/** Records that are read at one time. */
const page = 500;

/** A node's bus on a broker in memory: for tests of several nodes in one process, in virtual time. */
export function memoryBus(options: {
  broker: MemoryBroker;
  /** Its name among the nodes, for `tell`. */
  node: string;
  partitions: number;
  clock: Clock;
  log: Log;
}): Bus {
  const { node, partitions, clock } = options;
  const broker = options.broker.inner;
  const log = options.log.with({ bus: 'memory' });
  const ends = new Set<() => Promise<void>>();
  let isClosed = false;

  /** What is sent is answered, or nobody knows. */
  const carry = async (work: () => void): Promise<void> => {
    if (isClosed) throw closedFault();
    const cut = broker.cut(node);
    if (!cut || cut.arrives) work();
    // Never in the turn of the sender, as with a real engine.
    await Promise.resolve();
    if (!cut) return;
    await new Promise<void>((resolve) => void clock.at(clock.now() + sendTimeout, resolve));
    throw unknownFault(`${node} is cut off`);
  };

  const ending = (end: () => Promise<void>) => {
    const once = async () => {
      if (ends.delete(once)) await end();
    };
    ends.add(once);
    return once;
  };

  let holdings: readonly Holding[] = [];

  const own = async (owner: PartitionOwner) => {
    /** Where a partition is read on; those that rest are not in it. */
    const places = new Map<number, number>();
    const busy = new Set<number>();

    /** Reads what there is, until there is nothing. */
    const read = async (partition: number): Promise<void> => {
      const held = holdings[partition];
      if (!held || busy.has(partition)) return;
      busy.add(partition);
      try {
        // Never in the turn of whoever sent.
        await Promise.resolve();
        for (;;) {
          const from = places.get(partition);
          if (from === undefined || broker.cut(node)) return;
          const { first, next } = broker.range(partition);
          if (from < first || from > next) {
            log.error('the log does not have the next record', { partition, from, first, next });
            held.restart();
            return;
          }
          if (from === next) return;
          const records = broker.read(partition, { from, limit: page });
          places.set(partition, from + records.length);
          held.got(records, next);
        }
      } finally {
        busy.delete(partition);
      }
    };
    const wake = (partition: number) => void read(partition);
    const feed = {
      async range(partition: number) {
        if (broker.cut(node)) throw unknownFault(`${node} is cut off`);
        return broker.range(partition);
      },
      read(partition: number, from: number) {
        places.set(partition, from);
        wake(partition);
      },
      rest: (partition: number) => void places.delete(partition),
    };

    holdings = Array.from(
      { length: partitions },
      (_, partition) => new Holding(partition, { owner, feed, clock, log }),
    );
    const leave = broker.join({
      node,
      give: (given) => {
        for (const partition of given) holdings[partition]?.take();
      },
      take: () => {
        for (const held of holdings) held.release();
      },
      wake,
    });
    return ending(async () => leave());
  };

  return {
    async open() {
      const opened = broker.open(partitions);
      if (opened.partitions === partitions) return { log: opened.log };
      const message = `the log has ${opened.partitions} partitions, not the ${partitions} that were asked for`;
      throw new Fault('bus.partitions', { status: 500, message });
    },
    async send(command) {
      checkPartition(command.partition, { partitions });
      checkRecord(command);
      await carry(() => broker.append(command));
    },
    own,
    restart: (partition) => holdings[partition]?.restart(),
    async tell(other, message) {
      checkValue(message);
      await carry(() => broker.tell(other, message));
    },
    async listen(hear) {
      const told: string[] = [];
      const end = broker.listen({
        node,
        hear(message) {
          // Heard in a turn of its own, in order.
          told.push(message);
          queueMicrotask(() => {
            try {
              hear(told.shift() as string);
            } catch (error) {
              log.error('what this node was told was not handled', { error });
            }
          });
        },
      });
      return ending(async () => end());
    },
    async publish(records) {
      checkCount(records.length);
      for (const record of records) checkRecord(record);
      await carry(() => broker.publish(records));
    },
    async bury(record, reason) {
      await carry(() => broker.bury(record, reason));
    },
    async ping() {
      await carry(() => {}).catch((error: unknown) => {
        throw hasCode(error, 'bus.unknown') ? unreachableFault(`${node} is cut off`) : error;
      });
    },
    lags() {
      const heardAt = clock.now();
      return holdings.flatMap(({ partition, lag: records }) =>
        records === undefined ? [] : [{ partition, records, heardAt }],
      );
    },
    async close() {
      isClosed = true;
      await Promise.all([...ends].map((end) => end()));
    },
  };
}
