import { type TInteger, Type } from '@sinclair/typebox';

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

/** What a key of the config carries when it is a bound. */
export interface LimitNote {
  readonly unit: string;
  readonly beyond: string;
}

/** Schema of a bound in the config: a whole number, at least 1 unless `minimum` says otherwise. Without `default` the code knows better. */
export function limitSchema(options: {
  default?: number;
  description: string;
  unit: string;
  beyond: string;
  minimum?: number;
  maximum?: number;
}): TInteger {
  const { unit, beyond, ...rest } = options;
  return Type.Integer({ minimum: 1, ...rest, limit: { unit, beyond } satisfies LimitNote });
}
