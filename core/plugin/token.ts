/** A typed name for what one plugin gives to others. Compared by id, so it may be imported twice. */
export interface Token<T> {
  readonly id: string;
  /** Only a type; never set. */
  readonly type?: T;
}

export function token<T>(id: string): Token<T> {
  return { id };
}

/** A typed name for what any number of plugins offer to one; each may be off. Compared by id. */
export interface Collection<T> {
  readonly id: string;
  /** Only a type; never set. */
  readonly type?: T;
}

export function collection<T>(id: string): Collection<T> {
  return { id };
}

/** What a plugin offers to a collection, as data: made when somebody asks for the collection. */
export interface Offer<K = unknown> {
  readonly to: Collection<unknown>;
  make(kit: K): unknown;
}

/** @param make gets the kit of the plugin that offers */
export function offer<T, K = unknown>(to: Collection<T>, make: (kit: K) => T): Offer<K> {
  return { to, make };
}
