import type { Fault } from '../../../../core/base/fault.ts';
import type { Log } from '../../../../core/base/log.ts';
import { Channel, type Thread } from './channel.ts';
import { readOnlyDatabase } from './database.ts';
import { type Reader, reader } from './reader.ts';
import { statements } from './statements.ts';

export interface SqliteStoreOptions {
  /** Path of the database, or `:memory:` for one that ends with the store. Missing folders are made. */
  readonly file: string;
  readonly log?: Log;
  /** Starts what owns the database. Default: a worker. */
  readonly thread?: () => Thread;
  /** Calls in flight beyond which `store.busy` is answered. Default: 10,000. */
  readonly maxWaiting?: number;
  /** The store broke and stays broken: only a restart of the process helps, and loses nothing acknowledged. */
  readonly onFailure?: (failure: Fault) => void;
}

/** The reads: answered at once by our own connection, or later by the worker. */
export type Reads = {
  [Name in keyof Reader]: (
    argument: Parameters<Reader[Name]>[0],
  ) => ReturnType<Reader[Name]> | Promise<ReturnType<Reader[Name]>>;
};

export interface Connection {
  readonly worker: Channel;
  /** Rejects when the database could not be opened, throws when the store has failed. */
  reads(): Reads | Promise<Reads>;
  close(): Promise<void>;
}

/** Starts the worker and has it open the database. */
export function connection(options: SqliteStoreOptions): Connection {
  const { file, log, thread } = options;
  let open: Opened | undefined;
  const worker = new Channel(thread?.() ?? new Worker(new URL('./worker.ts', import.meta.url)), {
    maxWaiting: options.maxWaiting ?? 10_000,
    onFailure(failure) {
      log?.error('store failed', { file, error: failure });
      options.onFailure?.(failure);
    },
  });
  const opened = worker.call('open', { file }).then(({ schema, migrated }): Opened => {
    log?.info('store opened', { file, schema, migrated });
    // A database in memory belongs to its connection, so there the worker reads as well.
    open = file === ':memory:' ? { reads: remote(worker), close: () => {} } : local(file);
    return open;
  });
  // Callers get the reason; without this handler it would also count as unhandled.
  opened.catch(() => {});

  return {
    worker,
    reads() {
      const failure = worker.failure;
      if (failure) throw failure;
      return open?.reads ?? opened.then(({ reads }) => reads);
    },
    async close() {
      await worker.idle();
      const own = await opened.catch(() => undefined);
      // Ours first: the last connection to go is the one that can remove the write-ahead log.
      own?.close();
      // A failure was reported when it happened, and the worker is gone.
      if (worker.failure) return;
      try {
        await worker.call('close', null);
      } finally {
        worker.end();
      }
    },
  };
}

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

function remote(worker: Channel): Reads {
  return new Proxy({} as Reads, {
    // With a `then` it would be taken for a promise.
    get: (_, name) =>
      name === 'then' ? undefined : (argument: never) => worker.call(name as keyof Reads, argument),
  });
}
