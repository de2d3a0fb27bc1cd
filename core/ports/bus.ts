/**
 * How nodes speak to each other: a log of commands for each partition, which one node at a time consumes; messages to
 * one node; events for the world. Only deployments of several nodes have one: alone, commands go straight in.
 *
 * Values cross this port as JSON text. The engine may reorder between partitions and senders. It never loses what it
 * acknowledged, and never writes a command twice.
 */
export interface Bus {
  /**
   * Connects, creates what is missing, and checks the rest. Faults: `bus.partitions` when the log was made with another
   * count, `bus.unreachable`. Resolves with the identity of the log: another one holds other commands.
   */
  open(): Promise<{ readonly log: string }>;

  /**
   * Puts a command on the log of its partition: it is safe there when this resolves. Commands that are sent one after
   * the other's answer keep their order. Fault `bus.unknown` (503): it may be there, or come there yet.
   */
  send(command: BusCommand): Promise<void>;

  /** From now on this node consumes its share of the partitions. At most once; returns the end of it. */
  own(owner: PartitionOwner): Promise<() => Promise<void>>;

  /**
   * Begins anew with a partition that this node has: `revoked`, then `assigned`. For an owner that cannot go on from
   * where it stands. Without the partition nothing happens.
   */
  restart(partition: number): void;

  /** Tells one node something: at least once while that node listens. Fault `bus.unknown`. */
  tell(node: string, message: string): Promise<void>;

  /** Hears what this node is told from now on, in order for each teller. At most once; returns the end of it. */
  listen(hear: (message: string) => void): Promise<() => Promise<void>>;

  /**
   * For whoever reads along outside of this program, in order for each key. Faults `bus.unknown`, and `bus.too_large` when one
   * of them will never be taken; the others may have been.
   */
  publish(records: readonly { readonly key: string; readonly value: string }[]): Promise<void>;

  /**
   * Keeps a record that nobody can make sense of, or what tells of an event that is too large (offset -1, of no partition),
   * with the reason, where a person can find it. Fault `bus.unknown`.
   */
  bury(record: LogRecord, reason: string): Promise<void>;

  /**
   * Resolves when the engine has answered, and commands of every partition could be sent. For whoever must know whether it is
   * there while nothing is sent or consumed. In bounded time; Fault `bus.unreachable`.
   */
  ping(): Promise<void>;

  /** Of the partitions that this node consumes. */
  lags(): readonly PartitionLag[];

  /** Ends what is open. Harmless when repeated. */
  close(): Promise<void>;
}

export interface BusCommand {
  readonly partition: number;
  /** The actor. */
  readonly key: string;
  /** JSON. */
  readonly value: string;
}

/** Who consumes partitions. Calls for one partition never overlap, but for `revoked`, which may come at any time. */
export interface PartitionOwner {
  /**
   * This node has the partition from now on. Resolves with the offset of the first record to be delivered. `log` tells
   * what there is. When it throws nothing is delivered, the reason is logged, and it is asked again after a while.
   */
  assigned(partition: number, log: LogRange): Promise<number>;

  /** The partition may be another node's by now. Nothing of it is delivered any more. */
  revoked(partition: number): void;

  /** Records, in order and without gap. The next ones come when it resolves; when it throws the partition is restarted. */
  records(partition: number, records: readonly LogRecord[]): Promise<void>;
}

export interface LogRange {
  /** Offset of the oldest record that is still there. */
  readonly first: number;
  /** Offset that the next record will get. */
  readonly next: number;
}

export interface LogRecord {
  readonly partition: number;
  readonly offset: number;
  /** When the engine took it, epoch ms by its own clock: later records have later times. */
  readonly at: number;
  readonly key: string;
  readonly value: string;
}

export interface PartitionLag {
  readonly partition: number;
  /** Records that are on the log and not yet delivered, as last heard. */
  readonly records: number;
  /** Epoch ms of the last word from the engine. */
  readonly heardAt: number;
}
