import { Fault } from '../../../../core/base/fault.ts';
import type { Jobs } from '../../../../core/ports/jobs.ts';
import type { Store } from '../../../../core/ports/store.ts';
import { type Connection, connection, type Reads, type SqliteStoreOptions } from './connection.ts';
import { count, page } from './pages.ts';

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
      return connected().worker.call('acquire', { count, ...options });
    },
    commit: async (step) => connected().worker.call('commit', step),
    commitAll: async (batch) => connected().worker.call('commitAll', batch),
    write: async (write) => connected().worker.call('write', write),
    acknowledge: async (orderIds) => connected().worker.call('acknowledge', orderIds),
    sweep: async (before, upTo = Number.MAX_SAFE_INTEGER) =>
      connected().worker.call('sweep', { before, upTo }),
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
      position: (id) => read((reads) => reads.position(id)),
      last: () => read((reads) => reads.last(null)),
      cursor: (consumer) => read((reads) => reads.cursor(consumer)),
      advance: async (consumer, position) => connected().worker.call('advance', { consumer, position }),
    },
    jobs: {
      claim: async (kind, claim) => connected().worker.call('claimJobs', { ...claim, kind }),
      beat: async (owner, leases) => connected().worker.call('beatJobs', { owner, leases }),
      release: async (owner, release) => connected().worker.call('releaseJob', { ...release, owner }),
      finish: async (owner, id) => connected().worker.call('finishJob', { owner, id }),
      owners: async (node) => connected().worker.call('jobOwners', { node }),
      free: async (owners, now) => connected().worker.call('freeJobs', { owners, now }),
      next: (kinds, owner) => read((reads) => reads.nextJob({ kinds, owner })),
      totals: () => read((reads) => reads.jobTotals(null)),
      // No other process works on this file.
      subscribe: () => () => {},
    },
    idle: async () => open?.worker.idle(),
    close() {
      closing ??= open?.close() ?? Promise.resolve();
      return closing;
    },
  };
}
