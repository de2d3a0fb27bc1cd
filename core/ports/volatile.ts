/**
 * Small facts that are of use for seconds and that every node can read: live figures, presence. Nothing here
 * outlives the deployment; whoever needs a fact to last writes it to the store.
 */
export interface Volatile {
  /**
   * Each value replaces what its key held and is readable by everybody when this resolves; `lasts` ms later it is
   * gone, unless set again. One call is one trip however many entries it has. All entries are checked first: a key
   * or value beyond `volatileLimits` is a RangeError that names it, and nothing is set. Fault `volatile.full`
   * (503) when there is no room for the new keys; then those that were there have been replaced. Where the facts are in
   * another process, any call may fail with `volatile.unavailable` (503): it is not known whether it happened.
   */
  set(entries: readonly VolatileEntry[], options: { readonly lasts: number }): Promise<void>;
  /** The values of these keys in their order, each a copy; undefined for what is not there. One trip. */
  get(keys: readonly string[]): Promise<(Json | undefined)[]>;
  /** Everything whose key begins with `prefix`, ascending by key, `limit` at most (1..`listed`). */
  list(prefix: string, options: { readonly limit: number }): Promise<VolatileEntry[]>;
  /**
   * Tells all nodes, this one too, at most once: who was away does not hear of it, so it may only make quicker what
   * would be noticed anyway. `topic` is shaped like a key, `message` is bounded like a value (RangeError). What was
   * listened to here before this call hears of it.
   */
  announce(topic: string, message: Json): Promise<void>;
  /** Hears what is announced from now on, each listener a copy, what one node says in its order. Returns its end. */
  listen(topic: string, hear: (message: Json) => void): () => void;
  close(): Promise<void>;
}

export interface VolatileEntry {
  /** `name/id`: 1 to `keyLength` of `a-z A-Z 0-9 . _ - /`. */
  readonly key: string;
  readonly value: Json;
}

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** Bounds of every driver; what goes beyond them is a mistake of ours. */
export const volatileLimits = {
  /** Characters of a key. */
  keyLength: 200,
  /** Characters of a value as JSON. */
  valueLength: 16_384,
  /** Entries of one call. */
  listed: 10_000,
  /** How long a value may last, ms. */
  longest: 24 * 3_600_000,
} as const;

/** The values as JSON, in their order. Throws a RangeError that names the first entry beyond the limits. */
export function checkedEntries(
  entries: readonly VolatileEntry[],
  { lasts }: { readonly lasts: number },
): string[] {
  const { longest } = volatileLimits;
  checkCount('entries', entries.length);
  if (!(lasts >= 1 && lasts <= longest)) throw new RangeError(`lasts is ${lasts}, not 1..${longest} ms`);
  return entries.map(({ key, value }) => {
    checkKey(key);
    return checkedValue(key, value);
  });
}

/** Throws a RangeError that names the first key which is none. */
export function checkKeys(keys: readonly string[]): void {
  checkCount('keys', keys.length);
  for (const key of keys) checkKey(key);
}

/** An announcement as JSON. Throws a RangeError when topic or message is beyond the limits. */
export function announced(topic: string, message: Json): string {
  checkKey(topic);
  return checkedValue(topic, message);
}

/** Throws a RangeError for a limit outside of 1..`listed`. */
export function checkLimit(limit: number): void {
  if (!(limit >= 1)) throw new RangeError(`limit is ${limit}; at least 1`);
  checkCount('limit', limit);
}

function checkKey(key: string): void {
  if (!shape.test(key)) throw new RangeError(`${JSON.stringify(key.slice(0, 100))} is no key`);
}

function checkedValue(key: string, value: Json): string {
  const { valueLength } = volatileLimits;
  const text = JSON.stringify(value);
  if (text.length <= valueLength) return text;
  throw new RangeError(`the value of ${key} has ${text.length} characters; at most ${valueLength}`);
}

function checkCount(what: string, count: number): void {
  if (count > volatileLimits.listed)
    throw new RangeError(`${what}: ${count}; at most ${volatileLimits.listed}`);
}

const shape = new RegExp(`^[a-zA-Z0-9._/-]{1,${volatileLimits.keyLength}}$`);
