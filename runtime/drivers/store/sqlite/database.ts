import { Database } from 'bun:sqlite';
import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { Fault } from '../../../../core/base/fault.ts';
import { isFull } from './errors.ts';
import { migrate } from './schema.ts';

/** Pages kept in memory, KiB. */
const writerCache = 65_536;
const readerCache = 16_384;
/** Pages of 4 KiB in the write-ahead log after which a commit moves it back into the file. */
const logPages = 4096;
/** Bytes of the file that reading maps: SQLite as Bun builds it maps no more (SQLITE_MAX_MMAP_SIZE). */
export const mapped = 2 * 1024 ** 3 - 65_536;

export interface OpenDatabase {
  readonly db: Database;
  readonly schema: number;
  readonly migrated: number;
  close(): void;
}

/** Opens the file for writing, alone. Faults: `store.locked`, `store.open`, `store.newer`, `store.foreign`. */
export function database(file: string): OpenDatabase {
  if (file === ':memory:') {
    const db = new Database(':memory:', { strict: true });
    return { db, ...migrate(db, file), close: () => db.close() };
  }
  const directory = dirname(file);
  let unlock = () => {};
  try {
    // The data holds stream keys, so other users of the machine cannot read it.
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    unlock = lock(file);
    closeSync(openSync(file, 'a', 0o600));
    const db = new Database(file, { strict: true });
    db.run('PRAGMA journal_mode = WAL');
    db.run('PRAGMA synchronous = FULL');
    // macOS answers fsync from the drive's cache unless asked for more; elsewhere these do nothing.
    db.run('PRAGMA fullfsync = ON');
    db.run('PRAGMA checkpoint_fullfsync = ON');
    db.run(`PRAGMA cache_size = -${writerCache}`);
    db.run(`PRAGMA wal_autocheckpoint = ${logPages}`);
    const schema = migrate(db, file);
    syncDirectory(directory);
    return {
      db,
      ...schema,
      close() {
        try {
          db.run('PRAGMA wal_checkpoint(TRUNCATE)');
        } catch (error) {
          // What is committed stays in the log, and the next start reads it from there.
          if (!isFull(error)) throw error;
        } finally {
          db.close();
          unlock();
        }
      },
    };
  } catch (error) {
    unlock();
    if (error instanceof Fault) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new Fault('store.open', { status: 500, message: `cannot open ${file}: ${reason}`, cause: error });
  }
}

/** For point reads beside the writer. It sees a commit as soon as that is synced. */
export function readOnlyDatabase(file: string): Database {
  const db = new Database(file, { readonly: true, strict: true });
  db.run(`PRAGMA cache_size = -${readerCache}`);
  // Rows beyond that cache come from the page cache of the system without being copied by a call. It is address space.
  db.run(`PRAGMA mmap_size = ${mapped}`);
  return db;
}

/**
 * A second process would take over the partitions and fence the first, so only one may open the file. The
 * lock is SQLite's own on an empty file beside it: the kernel drops it when the process dies, however it dies.
 * It cannot be the data file itself, whose exclusive lock would shut out our own read-only connection.
 */
function lock(file: string): () => void {
  const held = new Database(`${file}.lock`);
  try {
    held.run('PRAGMA busy_timeout = 0');
    held.run('BEGIN EXCLUSIVE');
  } catch (error) {
    held.close();
    if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error;
    throw new Fault('store.locked', {
      status: 503,
      message: `${file} is in use by another process (it holds ${file}.lock); stop that one first`,
    });
  }
  return () => held.close();
}

/** A synced file whose name is not on disk is gone after a power cut. */
function syncDirectory(directory: string): void {
  const handle = openSync(directory, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
