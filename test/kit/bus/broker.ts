import type { LogRange, LogRecord } from '../../../core/ports/bus.ts';
import type { Clock } from '../../../core/ports/clock.ts';

/** Records kept of one partition. Beyond: the oldest go, as when the retention of a topic has passed. */
const mostKept = 100_000;
/** How long a node that is cut off keeps its partitions, ms. */
const session = 6000;

/**
 * What the nodes of one process share instead of an engine: the logs, who consumes what, and faults on demand. It runs
 * on the clock it is given, so hours of several nodes pass in milliseconds. Nothing outlives it.
 */
export interface MemoryBroker {
  /** All records of a partition that are still there. */
  records(partition: number): readonly LogRecord[];
  /** What was published, oldest first. */
  published(): readonly { readonly key: string; readonly value: string }[];
  /** What was buried. */
  dead(): readonly { readonly record: LogRecord; readonly reason: string }[];
  /** Nodes and the partitions that the group gives them. */
  shares(): ReadonlyMap<string, readonly number[]>;
  /**
   * From now on the node hears nothing, and what it sends is not answered: lost, or (`arrives`) written. After the
   * session timeout its partitions are others', and it is told so, unless it `sleeps`: then it hears of it only when
   * it is mended, as a process that was stopped.
   */
  cut(node: string, options?: { readonly arrives?: boolean; readonly sleeps?: boolean }): void;
  mend(node: string): void;
  /** Takes partitions from everyone and gives them anew, as when a node joins. */
  rebalance(): void;
  /** Records before `first` are gone, as when their retention has passed. */
  trim(partition: number, first: number): void;
  /** The topic was deleted and made again: another identity, nothing in it. Nodes learn of it when they open. */
  recreate(): void;
  /** For the driver alone. */
  readonly inner: BrokerInner;
}

/** A node as the broker knows it. */
export interface Member {
  readonly node: string;
  give(partitions: readonly number[]): void;
  take(): void;
  /** There is something new on the log of the partition. */
  wake(partition: number): void;
}

export interface BrokerInner {
  open(partitions: number): { readonly log: string; readonly partitions: number };
  join(member: Member): () => void;
  listen(listener: { readonly node: string; hear(message: string): void }): () => void;
  append(record: { readonly partition: number; readonly key: string; readonly value: string }): void;
  range(partition: number): LogRange;
  read(partition: number, options: { readonly from: number; readonly limit: number }): readonly LogRecord[];
  tell(node: string, message: string): void;
  publish(records: readonly { readonly key: string; readonly value: string }[]): void;
  bury(record: LogRecord, reason: string): void;
  /** How the node is cut off; undefined when it is not. */
  cut(node: string): Cut | undefined;
}

export interface Cut {
  readonly arrives: boolean;
  readonly sleeps: boolean;
}

export function memoryBroker(options: {
  clock: Clock;
  retained?: number;
  sessionTimeout?: number;
}): MemoryBroker {
  const { clock, retained = mostKept, sessionTimeout = session } = options;
  const logs: { first: number; readonly kept: LogRecord[] }[] = [];
  const members = new Map<string, Member>();
  const listeners = new Map<string, (message: string) => void>();
  const cuts = new Map<string, Cut & { isOut: boolean; held: string[]; readonly cancel: () => void }>();
  const published: { key: string; value: string }[] = [];
  const dead: { record: LogRecord; reason: string }[] = [];
  let shares = new Map<string, number[]>();
  let identity = 1;

  const logOf = (partition: number) => {
    const found = logs[partition];
    if (!found) throw new RangeError(`partition ${partition} is not one of 0..${logs.length - 1}`);
    return found;
  };
  const lasts = (log: { first: number; readonly kept: LogRecord[] }) => log.first + log.kept.length;
  const bounded = <T>(list: T[]) => list.splice(0, list.length - retained);

  /** All at once, as with eager rebalancing: everyone lets go before anyone takes. */
  const rebalance = () => {
    const present = [...members.values()].filter(({ node }) => !cuts.get(node)?.isOut);
    for (const member of present) member.take();
    shares = new Map(present.map(({ node }) => [node, []]));
    const nodes = present.sort((a, b) => (a.node < b.node ? -1 : 1));
    for (let partition = 0; nodes.length > 0 && partition < logs.length; partition++)
      shares.get(nodes[partition % nodes.length]!.node)?.push(partition);
    for (const member of nodes) member.give(shares.get(member.node) ?? []);
  };

  const trim = (partition: number, first: number) => {
    const log = logOf(partition);
    log.kept.splice(0, first - log.first);
    log.first = Math.max(log.first, first);
  };

  const inner: BrokerInner = {
    open(partitions) {
      if (logs.length === 0)
        for (let partition = 0; partition < partitions; partition++) logs.push({ first: 0, kept: [] });
      return { log: `memory-${identity}`, partitions: logs.length };
    },
    join(member) {
      members.set(member.node, member);
      rebalance();
      return () => {
        if (members.get(member.node) !== member) return;
        members.delete(member.node);
        member.take();
        rebalance();
      };
    },
    listen({ node, hear }) {
      listeners.set(node, hear);
      return () => {
        if (listeners.get(node) === hear) listeners.delete(node);
      };
    },
    append({ partition, key, value }) {
      const log = logOf(partition);
      log.kept.push({ partition, offset: lasts(log), at: clock.now(), key, value });
      if (log.kept.length > retained) trim(partition, lasts(log) - retained);
      for (const member of members.values()) member.wake(partition);
    },
    range(partition) {
      const log = logOf(partition);
      return { first: log.first, next: lasts(log) };
    },
    read(partition, { from, limit }) {
      const log = logOf(partition);
      if (from < log.first || from > lasts(log))
        throw new RangeError(`offset ${from} of partition ${partition} is not on the log`);
      return log.kept.slice(from - log.first, from - log.first + limit);
    },
    tell(node, message) {
      const cut = cuts.get(node);
      if (!cut) listeners.get(node)?.(message);
      else if (cut.held.push(message) > retained) cut.held.shift();
    },
    publish(records) {
      published.push(...records);
      bounded(published);
    },
    bury(record, reason) {
      dead.push({ record, reason });
      bounded(dead);
    },
    cut: (node) => cuts.get(node),
  };

  return {
    inner,
    records: (partition) => [...logOf(partition).kept],
    published: () => [...published],
    dead: () => [...dead],
    shares: () => shares,
    rebalance,
    trim,
    cut(node, { arrives = false, sleeps = false } = {}) {
      cuts.get(node)?.cancel();
      const cancel = clock.at(clock.now() + sessionTimeout, () => {
        const cut = cuts.get(node);
        if (!cut) return;
        cut.isOut = true;
        if (!cut.sleeps) members.get(node)?.take();
        if (members.has(node)) rebalance();
      });
      cuts.set(node, { arrives, sleeps, isOut: false, held: [], cancel });
    },
    mend(node) {
      const cut = cuts.get(node);
      if (!cut) return;
      cut.cancel();
      cuts.delete(node);
      if (cut.isOut && members.has(node)) rebalance();
      else for (let partition = 0; partition < logs.length; partition++) members.get(node)?.wake(partition);
      for (const message of cut.held) listeners.get(node)?.(message);
    },
    recreate() {
      identity += 1;
      for (const log of logs) Object.assign(log, { first: 0, kept: [] });
      rebalance();
    },
  };
}
