/**
 * Small facts that are of use for seconds and that every node can read: live figures, presence. Nothing here
 * outlives the deployment; what must last is written to the store.
 */
export interface Volatile {
  /**
   * Each value replaces what its key held and is readable by everybody when this resolves; `lasts` ms later it is
   * gone, unless set again. One call is one trip however many entries it has. Fault `volatile.full`
   * (503) when there is no room for the new keys; then those that were there have been replaced. Where the facts are in
   * another process, any call may fail with `volatile.unavailable` (503): it is not known whether it happened.
   */
  set(entries: readonly VolatileEntry[], options: { readonly lasts: number }): Promise<void>;
  /** The values of these keys in their order, each a copy; undefined for what is not there. One trip. */
  get(keys: readonly string[]): Promise<(Json | undefined)[]>;
  /**
   * Tells all nodes, this one too, at most once: who was away does not hear of it, so it may only make quicker what
   * would be noticed anyway. `topic` is shaped like a key. What was listened to here before this call hears of it.
   */
  announce(topic: string, message: Json): Promise<void>;
  /** Hears what is announced from now on, each listener a copy, what one node says in its order. Returns its end. */
  listen(topic: string, hear: (message: Json) => void): () => void;
  close(): Promise<void>;
}

export interface VolatileEntry {
  /** `name/id` */
  readonly key: string;
  readonly value: Json;
}

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
