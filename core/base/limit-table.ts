// Threads of their own load this: nothing that takes long to load may be imported here.

/** A bound of the program. Tables of them are being replaced by constants beside the code. */
export interface Limit {
  readonly value: number;
  readonly unit: string;
  readonly meaning: string;
  readonly beyond: string;
  readonly key?: string;
}

export type LimitTable<N extends string = string> = Readonly<Record<N, Limit>>;

export function limitTable<N extends string>(_name: string, limits: Record<N, Limit>): LimitTable<N> {
  return Object.freeze(limits);
}

/** The values alone. */
export function valuesOf<N extends string>(table: LimitTable<N>): Readonly<Record<N, number>> {
  const entries = Object.entries<Limit>(table).map(([name, { value }]) => [name, value]);
  return Object.fromEntries(entries) as Record<N, number>;
}
