// Threads of their own load this: nothing that takes long to load may be imported here.

/**
 * A bound of the program, declared once, in the `limits.ts` of its folder: the code reads `value`, and the table in
 * docs/reference.md is made of all of them.
 */
export interface Limit {
  readonly value: number;
  /** `bytes`, `ms`, `s`, `characters`, or the plural of what is counted. */
  readonly unit: string;
  /** What is bounded, in a few words. */
  readonly meaning: string;
  /** What happens beyond it, to whom, with which code. */
  readonly beyond: string;
  /** Key of the config that sets it; `value` is then what the key has by default. */
  readonly key?: string;
}

/** The bounds of one part of the program. */
export type LimitTable<N extends string = string> = Readonly<Record<N, Limit>> & { readonly [area]: string };

const area = Symbol.for('millrace.limits.area');

/** @param name the part as operators know it: a section of the config, or the id of a plugin */
export function limitTable<N extends string>(name: string, limits: Record<N, Limit>): LimitTable<N> {
  return Object.freeze({ ...limits, [area]: name });
}

/** The values alone, for code that takes its limits as numbers so that tests can give others. */
export function valuesOf<N extends string>(table: LimitTable<N>): Readonly<Record<N, number>> {
  const entries = Object.entries<Limit>(table).map(([name, { value }]) => [name, value]);
  return Object.fromEntries(entries) as Record<N, number>;
}

/** The area of a limit table; undefined for anything else. */
export function areaOf(value: unknown): string | undefined {
  return value !== null && typeof value === 'object' ? (value as Partial<LimitTable>)[area] : undefined;
}
