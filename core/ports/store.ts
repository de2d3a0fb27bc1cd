import type { JobOwner, JobWrite } from './jobs.ts';

/**
 * Durable state: actors with their timers and jobs, resources with their indexes, the event log, orders.
 *
 * Every write is one atomic commit and is on disk when its promise resolves. Rows, states and bodies cross
 * this port as JSON text, so that nobody can keep a live reference to what is stored.
 */
export interface Store {
  /**
   * Takes over partitions of the `count` that the data has: each gets a new epoch, and commits of former owners are
   * `fenced` from now on. Faults: `store.partitions` when the data was written with another count, `store.log` when it
   * was filled from another command log.
   */
  acquire(count: number, options?: AcquireOptions): Promise<Lease[]>;

  /** The actor as last committed; undefined when it never was or has ended. */
  load(actor: string): Promise<StoredActor | undefined>;

  /** What the steps of a batch start from, read together: actors as last committed, and which of these causes are consumed. */
  loadAll(actors: readonly string[], causes: readonly string[]): Promise<LoadedActors>;

  /** One step of an actor, all or nothing. Checks in this order: epoch, cause, finished job, sequence. */
  commit(step: StepCommit): Promise<CommitOutcome>;

  /**
   * Steps of one partition in their order, and how far its command log is consumed with them: all or nothing. Each step is
   * checked as it stands after those before it. Checks the epoch first, then the offset, then the steps.
   */
  commitAll(batch: StepBatch): Promise<BatchOutcome>;

  /**
   * Whether a remembered cause (see `StepCommit.counter`) was consumed. A state that has moved on may refuse what
   * it took before, so whoever repeats a request must be able to tell a repeat from a refusal.
   */
  isConsumed(cause: string): Promise<boolean>;

  /**
   * A write to plain resources (those without an actor), all or nothing, by compare-and-set. It may also delete rows that
   * steps wrote and that no step writes any more.
   */
  write(write: ResourceCommit): Promise<CommitOutcome>;

  /** All pending timers of these partitions (default: of all), earliest first. Read once after `acquire`. */
  timers(partitions?: readonly number[]): Promise<StoredTimer[]>;

  /** Orders of these partitions (default: of all) that are not acknowledged yet, in each oldest first. */
  orders(partitions?: readonly number[]): Promise<Order[]>;
  /** Forgets orders. Unknown ids are ignored. */
  acknowledge(orderIds: readonly string[]): Promise<void>;

  readonly resources: ResourceReader;
  readonly events: EventLog;

  /**
   * Forgets events, causes and the ids of ended actors older than `before` (epoch ms), of the events those up to the position
   * `upTo` (default: all). Consumers behind that point skip the gap. Calls in between may find it half done.
   */
  sweep(before: number, upTo?: number): Promise<void>;

  /**
   * Calls `listener` when the engine was started anew, and may have forgotten what it acknowledged last: what is known of
   * it here may be ahead of it. Returns the end of it. Absent where the engine is a part of this process.
   */
  onRestart?(listener: () => void): () => void;

  close(): Promise<void>;
}

export interface Lease {
  readonly partition: number;
  /** Grows by one with each owner. */
  readonly epoch: number;
  /** The number of the last direct command committed in this partition; the next one is `counter + 1`. */
  readonly counter: number;
  /** Offset of the last record of the command log that was consumed; -1 before any. */
  readonly offset: number;
}

export interface AcquireOptions {
  /** Default: all of them. */
  readonly partitions?: readonly number[];
  /** Identity of the command log; stored by the first call that names one. */
  readonly log?: string;
}

/** See `Store.loadAll`. */
export interface LoadedActors {
  /** Null: it has ended. Those that never were are missing. */
  readonly actors: ReadonlyMap<string, StoredActor | null>;
  readonly consumed: ReadonlySet<string>;
}

/** Steps of one partition that are committed together. */
export interface StepBatch {
  readonly partition: number;
  readonly epoch: number;
  /** The offset stored so far. Another one there is a `gap`: a commit before this one was not written. */
  readonly from: number;
  /** The one stored with this batch: that of the last record that it deals with. At least `from`. */
  readonly to: number;
  readonly steps: readonly BatchStep[];
}

export interface BatchStep extends Omit<StepCommit, 'partition' | 'epoch' | 'counter'> {
  /** Its cause is a place on the command log, so that it is unique by the offset and not remembered. */
  readonly isLogged?: boolean;
}

export type BatchOutcome =
  /** Written. `events`: the log positions of the events of all steps, in order. */
  | { readonly outcome: 'ok'; readonly events: readonly number[] }
  | { readonly outcome: 'fenced' }
  | { readonly outcome: 'gap'; readonly offset: number }
  /** The log is consumed up to `to`, or further: this batch was written before. */
  | { readonly outcome: 'duplicate' }
  /** The first step that cannot be written, and why, as in `CommitOutcome`. Nothing was written. */
  | { readonly outcome: 'refused'; readonly step: number; readonly why: 'duplicate' | 'lost' | 'conflict' };

export interface StoredActor {
  /** Machine snapshot as JSON. */
  readonly state: string;
  /** Version of the machine that wrote it. */
  readonly version: number;
  /** Number of the last step, from 1. */
  readonly sequence: number;
}

export interface StepCommit {
  readonly partition: number;
  readonly epoch: number;
  /** `type/id`. */
  readonly actor: string;
  /** What made this step happen; a cause is consumed once in its partition. */
  readonly cause: string;
  /**
   * Number of a direct command, stored as the partition's counter when it is higher. A cause with a number
   * is unique by construction, and a step that finishes a job happens once because the job is there once; every
   * other cause is remembered.
   */
  readonly counter?: number;
  /** Epoch milliseconds of the step. */
  readonly at: number;
  /** Sequence of the state this step was computed from; 0 when the actor must not exist yet. */
  readonly sequence: number;
  /** The next state, or null when the actor has ended: its row, timers and jobs go, its id stays remembered. */
  readonly state: string | null;
  readonly version: number;
  readonly rows: readonly ResourceWrite[];
  readonly timers: readonly TimerWrite[];
  readonly events: readonly EventWrite[];
  readonly orders: readonly Order[];
  /** Work that begins with this step; what becomes of it is told by the `Jobs` port. */
  readonly jobs: readonly JobWrite[];
  /** Ids of jobs of this actor whose work nobody wants any more. Unknown ones are ignored. */
  readonly cancels: readonly string[];
  /** The job whose result this step takes: it is removed. `lost` when this owner does not hold it any more. */
  readonly finish?: { readonly id: string; readonly owner: JobOwner };
}

export interface ResourceCommit {
  readonly at: number;
  /** `revision`: the one the caller read, 0 for "must not exist yet". */
  readonly rows: readonly (ResourceWrite & { readonly revision: number })[];
  readonly events: readonly EventWrite[];
  /** Only while the log has none of these events yet, by their ids: otherwise `duplicate`, checked before the rows. */
  readonly isOnce?: boolean;
}

export type CommitOutcome =
  /** Written and synced. `events`: the log positions of the commit's events, in order. */
  | { readonly outcome: 'ok'; readonly events: readonly number[] }
  /** This cause was consumed before, or an event of a write with `isOnce` is in the log; nothing was written. */
  | { readonly outcome: 'duplicate' }
  /** Another owner has the partition; nothing was written, drop it. */
  | { readonly outcome: 'fenced' }
  /** The job that this step would finish is not this owner's any more; nothing was written. */
  | { readonly outcome: 'lost' }
  /** The state or row moved on since it was read, or the actor has ended; nothing was written. */
  | { readonly outcome: 'conflict' };

export interface ResourceWrite {
  readonly kind: string;
  readonly id: string;
  /** Account that owns it. */
  readonly account: string;
  /** Epoch ms; lists are ordered by it, newest first, then by id, descending. */
  readonly createdAt: number;
  readonly name: string;
  /** The document as JSON, or null to delete the row and its indexes. */
  readonly body: string | null;
  /** All its index entries; those of an earlier write that are not here are removed. */
  readonly indexes: Readonly<Record<string, string>>;
}

export interface StoredResource {
  readonly id: string;
  readonly account: string;
  readonly createdAt: number;
  readonly name: string;
  readonly body: string;
  /** Grows by one with each write, from 1. */
  readonly revision: number;
}

export interface ResourceReader {
  get(kind: string, id: string): Promise<StoredResource | undefined>;
  /** The newest row whose index has this value. */
  find(kind: string, index: string, value: string): Promise<StoredResource | undefined>;
  /**
   * The rows of one kind that the query fits, in its order, fewer than `limit` only when there are no more.
   * A driver may look through many rows for a few that fit, but never so long at one go that others wait.
   */
  list(kind: string, query: ListQuery): Promise<StoredResource[]>;
  /** How many rows `list` would give with no limit. */
  count(kind: string, query: ListScope): Promise<number>;
}

export interface ListScope {
  readonly account?: string;
  /** All of these index values. */
  readonly where?: Readonly<Record<string, string>>;
  /** All of these, of the document. */
  readonly filters?: readonly Filter[];
}

export interface ListQuery extends ListScope {
  /** Completed by `fullOrder` (core/http/http/listing.ts). Default newest first. By name or id it should name an account. */
  readonly order?: readonly OrderTerm[];
  /** Ranks by likeness of the name to this text (`nameRank`), the default order within each rank; no `order` then. */
  readonly likeName?: string;
  readonly after?: Place;
  /** 1..1001: a page of at most 1000, and the row that tells whether another follows. */
  readonly limit: number;
  /** Once the documents that were found have more characters in all, the others are left out. Absent: none are. */
  readonly characters?: number;
}

export interface OrderTerm {
  /** `name` and `id` by their UTF-8 bytes. */
  readonly by: 'createdAt' | 'name' | 'id';
  readonly descending: boolean;
}

/** Where a row stands in any order; it need not exist any more. A stored row is its own place. */
export interface Place {
  readonly createdAt: number;
  readonly id: string;
  /** Needed where the order asks for it. */
  readonly name?: string;
}

/** What one value of a document must be, as `fits` (core/http/http/listing.ts) tells it. */
export interface Filter {
  /** Names that lead to the value. */
  readonly path: readonly string[];
  /** What a document without the value counts as; otherwise it does not fit. */
  readonly absent?: unknown;
  readonly is: FilterCondition;
}

export type FilterCondition = { readonly contains: string } | { readonly equals: boolean } | NumberRange;

export interface NumberRange {
  readonly gt?: number;
  readonly gte?: number;
  readonly lt?: number;
  readonly lte?: number;
}

/** `due` null removes the timer. Setting a timer of the same name replaces it. */
export interface TimerWrite {
  readonly name: string;
  /** Epoch ms. */
  readonly due: number | null;
}

export interface StoredTimer {
  readonly actor: string;
  readonly name: string;
  readonly due: number;
}

export interface EventWrite {
  readonly id: string;
  readonly type: string;
  readonly account: string;
  /** Stream it belongs to; empty when none. */
  readonly stream: string;
  /** JSON, as clients see it. */
  readonly body: string;
}

export interface LoggedEvent extends EventWrite {
  /** Place in the log, growing. */
  readonly position: number;
  readonly at: number;
  /** Of the owner whose step it is, where a store of several nodes remembers it. */
  readonly epoch?: number;
}

/** What is read of the log at a time. */
export interface EventRead {
  readonly account?: string;
  readonly limit: number;
  /** Once the bodies have more characters in all, the others are left out. */
  readonly characters?: number;
}

export interface EventLog {
  /** Events after `position`, oldest first, at most `limit` (1..1000). */
  after(position: number, options: EventRead): Promise<LoggedEvent[]>;
  /** Events before `position`, newest first, at most `limit` (1..1000). */
  before(position: number, options: EventRead): Promise<LoggedEvent[]>;
  /** Where an event stands, or undefined when it is unknown or too old. */
  position(id: string): Promise<number | undefined>;
  /** Position of the newest event ever logged; 0 when there was none. */
  last(): Promise<number>;
  /** How far a named consumer has come; 0 at first. */
  cursor(consumer: string): Promise<number>;
  /** Sets a consumer's place as given, also back. */
  advance(consumer: string, position: number): Promise<void>;
}

/**
 * Something a node must do, at least once: it is repeated until acknowledged, so doing it twice is harmless. Its body
 * names the `node` and `incarnation` that is to do it; when that process has ended it is dropped.
 */
export interface Order {
  /** Effect id: `<cause>/<index>/<type>`. */
  readonly id: string;
  readonly type: string;
  /** JSON. */
  readonly body: string;
}
