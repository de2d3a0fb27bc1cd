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
  /** Of one whose entries have names: checked before the program is ready. */
  readonly named?: EntryNames<T>;
  /** Only a type; never set. */
  readonly type?: T;
}

/** Names of entries, each of which may be there once. With a wrong one the program does not start. */
export interface EntryNames<T> {
  /** What an entry is, for errors: `webhook format`. */
  readonly what: string;
  /** What it is told from others by. */
  name(entry: T): string;
  /** What is wrong with an entry, its name among that, as the end of a sentence. */
  problem(entry: T): string | undefined;
}

/** What is wrong with a name in kebab-case, as the end of a sentence. */
export function kebabProblem(name: unknown): string | undefined {
  if (typeof name === 'string' && /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name) && name.length <= 64)
    return undefined;
  return 'expected a name in kebab-case of at most 64 characters, such as live-captions';
}

export function collection<T>(id: string, named?: EntryNames<T>): Collection<T> {
  return { id, ...(named && { named }) };
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
