import { Fault } from '../../../../core/base/fault.ts';
import type { Log } from '../../../../core/base/log.ts';
import type { Jobs } from '../../../../core/ports/jobs.ts';
import type { Store } from '../../../../core/ports/store.ts';
import { ownThread } from '../../../base/own-thread.ts';
import { Channel, type StartThread } from './channel.ts';
import { readOnlyDatabase } from './database.ts';
import { count, page } from './pages.ts';
import { type Reads, reader } from './reader.ts';
import { statements } from './statements.ts';

export interface SqliteStore extends Store {
  /** In the same file, and in the same commits. */
  readonly jobs: Jobs;
  /** Resolves when no call waits for the worker: what a test with a virtual clock needs to know. */
  idle(): Promise<void>;
}

/**
 * The embedded store: SQLite in a worker with group commit. Opens at the first call, which fails with
 * `store.open`, `store.locked`, `store.newer` or `store.foreign` when it cannot. Any call may fail with
 * `store.busy` (nothing happened), `store.full` (nothing was written), `store.unknown` (a write may have
 * happened) and from then on `store.failed`; after `close`, `store.closed`.
 */
export function sqliteStore(options: SqliteStoreOptions): SqliteStore {
  let open: Connection | undefined;
  let closing: Promise<void> | undefined;

  const connected = (): Connection => {
    if (closing) throw new Fault('store.closed', { status: 503, message: 'the store is closed' });
    open ??= connection(options);
    return open;
  };
  const read = async <Value>(query: (reads: Reads) => Value | Promise<Value>): Promise<Value> =>
    query(await connected().reads());

  return {
    async acquire(count, options) {
      if (!Number.isInteger(count) || count < 1)
        throw new RangeError(`${count} is not a number of partitions`);
      return connected().channel.call('acquire', { count, ...options });
    },
    commit: async (step) => connected().channel.call('commit', step),
    commitAll: async (batch) => connected().channel.call('commitAll', batch),
    write: async (write) => connected().channel.call('write', write),
    acknowledge: async (orderIds) => connected().channel.call('acknowledge', orderIds),
    sweep: async (before, upTo = Number.MAX_SAFE_INTEGER) =>
      connected().channel.call('sweep', { before, upTo }),
    isConsumed: (cause) => read((reads) => reads.isConsumed(cause)),
    load: (actor) => read((reads) => reads.load(actor)),
    loadAll: (actors, causes) => read((reads) => reads.loadAll({ actors, causes })),
    timers: (partitions) => read((reads) => reads.timers(partitions ?? null)),
    orders: (partitions) => read((reads) => reads.orders(partitions ?? null)),
    resources: {
      get: (kind, id) => read((reads) => reads.get({ kind, id })),
      find: (kind, index, value) => read((reads) => reads.find({ kind, index, value })),
      list: (kind, query) => read((reads) => page(reads, { kind, ...query })),
      count: (kind, scope) => read((reads) => count(reads, { kind, ...scope })),
    },
    events: {
      after: (position, query) => read((reads) => reads.after({ position, ...query })),
      before: (position, query) => read((reads) => reads.before({ position, ...query })),
      position: (id) => read((reads) => reads.position(id)),
      last: () => read((reads) => reads.last(null)),
      cursor: (consumer) => read((reads) => reads.cursor(consumer)),
      advance: async (consumer, position) => connected().channel.call('advance', { consumer, position }),
    },
    jobs: {
      claim: async (kind, claim) => connected().channel.call('claimJobs', { ...claim, kind }),
      beat: async (owner, leases) => connected().channel.call('beatJobs', { owner, leases }),
      release: async (owner, release) => connected().channel.call('releaseJob', { ...release, owner }),
      finish: async (owner, id) => connected().channel.call('finishJob', { owner, id }),
      owners: async (node) => connected().channel.call('jobOwners', { node }),
      free: async (owners, now) => connected().channel.call('freeJobs', { owners, now }),
      next: (kinds) => read((reads) => reads.nextJob(kinds)),
      totals: () => read((reads) => reads.jobTotals(null)),
      // No other process works on this file.
      subscribe: () => () => {},
    },
    idle: async () => open?.channel.idle(),
    close() {
      closing ??= open?.close() ?? Promise.resolve();
      return closing;
    },
  };
}

interface SqliteStoreOptions {
  /** Path of the database, or `:memory:` for one that ends with the store. Missing folders are made. */
  readonly file: string;
  readonly log?: Log;
  /** Default: a worker. */
  readonly thread?: StartThread;
  /** Calls in flight beyond which `store.busy` is answered. Default: 10,000. */
  readonly maxWaiting?: number;
  /** The store broke and stays broken: only a restart of the process helps, and loses nothing acknowledged. */
  readonly onFailure?: (failure: Fault) => void;
}

interface Connection {
  readonly channel: Channel;
  /** Rejects when the database could not be opened, throws when the store has failed. */
  reads(): Reads | Promise<Reads>;
  close(): Promise<void>;
}

/** Starts the worker and has it open the database. */
function connection(options: SqliteStoreOptions): Connection {
  const { file, log, thread = worker } = options;
  let open: Opened | undefined;
  const channel = new Channel(thread, {
    maxWaiting: options.maxWaiting ?? 10_000,
    onFailure(failure) {
      log?.error('store failed', { file, error: failure });
      options.onFailure?.(failure);
    },
  });
  const opened = channel.call('open', { file }).then(({ schema, migrated }): Opened => {
    log?.info('store opened', { file, schema, migrated });
    // A database in memory belongs to its connection, so there the worker reads as well.
    open = file === ':memory:' ? { reads: remote(channel), close: () => {} } : local(file);
    return open;
  });
  // Callers get the reason; without this handler it would also count as unhandled.
  opened.catch(() => {});

  return {
    channel,
    reads() {
      if (channel.failure) throw channel.failure;
      return open?.reads ?? opened.then(({ reads }) => reads);
    },
    async close() {
      await channel.idle();
      const own = await opened.catch(() => undefined);
      // Ours first: the last connection to go is the one that can remove the write-ahead log.
      own?.close();
      // A failure was reported when it happened, and the worker is gone.
      if (channel.failure) return;
      try {
        await channel.call('close', null);
      } finally {
        channel.end();
      }
    },
  };
}

const worker: StartThread = (handlers) => ownThread(new URL('./worker.ts', import.meta.url), handlers);

interface Opened {
  readonly reads: Reads;
  close(): void;
}

function local(file: string): Opened {
  const db = readOnlyDatabase(file);
  const sql = statements(db);
  return {
    reads: reader(sql),
    close() {
      sql.finalize();
      db.close();
    },
  };
}

function remote(channel: Channel): Reads {
  return new Proxy({} as Reads, {
    // With a `then` it would be taken for a promise.
    get: (_, name) =>
      name === 'then' ? undefined : (argument: never) => channel.call(name as keyof Reads, argument),
  });
}
