import type { Bus, LogRange, LogRecord, PartitionOwner } from '../../../core/ports/bus.ts';

/** An engine with nothing on it, and nodes that share it. */
export interface OpenedBus {
  readonly partitions: number;
  /** The bus of a node, opened. Closed at the end of the check. */
  node(name: string): Promise<Bus>;
  /** Lets that much time go by, as the driver counts it. */
  pass(ms: number): Promise<void>;
  /** Lets time go by until it holds; throws with `what` when that takes far too long. */
  until(what: string, holds: () => boolean): Promise<void>;
  now(): number;
}

/** One promise of the port. A list instead of bare tests, so that a test can show that a broken driver fails. */
export interface BusCheck {
  readonly name: string;
  run(opened: OpenedBus): Promise<void>;
}

/** What an owner was told, in order. */
export type Word =
  | { readonly kind: 'assigned'; readonly partition: number; readonly range: LogRange; readonly from: number }
  | { readonly kind: 'refused'; readonly partition: number }
  | { readonly kind: 'revoked'; readonly partition: number }
  | { readonly kind: 'records'; readonly partition: number; readonly records: readonly LogRecord[] }
  | { readonly kind: 'handled'; readonly partition: number; readonly records: readonly LogRecord[] };

export interface Witness extends PartitionOwner {
  readonly words: readonly Word[];
  /** Values that were delivered, of one partition or of all. */
  values(partition?: number): string[];
  /** Partitions that it has now. */
  readonly has: ReadonlySet<number>;
  /** Offset behind the last record that was handled, per partition: where it begins again. */
  readonly places: Map<number, number>;
}

/**
 * An owner that remembers what it is told, and throws at once when a promise about order is broken. It begins at
 * `places`, by default at the first record.
 */
export function witness(
  options: {
    places?: Map<number, number>;
    assigned?: (partition: number, range: LogRange) => Promise<number>;
    records?: (partition: number, records: readonly LogRecord[]) => Promise<void>;
  } = {},
): Witness & { check(): void } {
  const places = options.places ?? new Map<number, number>();
  const words: Word[] = [];
  const has = new Set<number>();
  const busy = new Set<number>();
  const nexts = new Map<number, number>();
  const wrongs: string[] = [];

  const inTurn = async <T>(partition: number, what: string, work: () => Promise<T>): Promise<T> => {
    if (busy.has(partition)) wrongs.push(`${what} of ${partition} while another call is under way`);
    busy.add(partition);
    try {
      return await work();
    } finally {
      busy.delete(partition);
    }
  };

  return {
    words,
    has,
    places,
    values: (partition) =>
      words.flatMap((word) =>
        word.kind === 'records' && (partition === undefined || word.partition === partition)
          ? word.records.map(({ value }) => value)
          : [],
      ),
    assigned: (partition, range) =>
      inTurn(partition, 'assigned', async () => {
        if (has.has(partition)) wrongs.push(`assigned of ${partition} without revoked`);
        nexts.delete(partition);
        has.add(partition);
        try {
          const from = options.assigned
            ? await options.assigned(partition, range)
            : (places.get(partition) ?? range.first);
          words.push({ kind: 'assigned', partition, range, from });
          if (has.has(partition)) nexts.set(partition, from);
          return from;
        } catch (error) {
          words.push({ kind: 'refused', partition });
          has.delete(partition);
          throw error;
        }
      }),
    revoked(partition) {
      if (!has.delete(partition)) wrongs.push(`revoked of ${partition}, which it has not got`);
      nexts.delete(partition);
      words.push({ kind: 'revoked', partition });
    },
    records: (partition, records) =>
      inTurn(partition, 'records', async () => {
        words.push({ kind: 'records', partition, records });
        for (const record of records) {
          const expected = nexts.get(partition);
          if (record.partition !== partition)
            wrongs.push(`a record of ${record.partition} as of ${partition}`);
          if (record.offset !== expected)
            wrongs.push(`record ${record.offset} of ${partition}; expected ${expected}`);
          nexts.set(partition, record.offset + 1);
        }
        await options.records?.(partition, records);
        words.push({ kind: 'handled', partition, records });
        if (nexts.has(partition)) places.set(partition, (records.at(-1)?.offset ?? 0) + 1);
      }),
    check() {
      if (wrongs.length > 0)
        throw new Error(`the owner was told wrong things: ${wrongs.slice(0, 5).join('; ')}`);
    },
  };
}

/** All partitions that these have, sorted; one that two have is there twice. */
export function held(...owners: readonly Witness[]): number[] {
  return owners.flatMap(({ has }) => [...has]).sort((a, b) => a - b);
}

export function numbers(count: number, from = 0): number[] {
  return Array.from({ length: count }, (_, index) => from + index);
}
