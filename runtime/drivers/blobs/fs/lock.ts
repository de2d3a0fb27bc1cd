import type { Database } from 'bun:sqlite';
import { busy, unavailable } from '../faults.ts';
import { lockWait } from './limits.ts';

/**
 * One process at a time, among all that share the directory. It is the lock that SQLite takes on its file, because that is
 * the one which Bun offers and which the system lets go of when its holder dies, so none is ever left behind. Only replacing under
 * a condition needs it: a link and a rename are atomic by themselves.
 */
export interface DirectoryLock {
  hold<T>(work: () => Promise<T>): Promise<T>;
  close(): void;
}

export function directoryLock(file: string): DirectoryLock {
  let database: Database | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const take = async (): Promise<Database> => {
    const { Database: Sqlite } = await import('bun:sqlite');
    try {
      database ??= new Sqlite(file, { create: true });
    } catch (error) {
      throw unavailable(`${file} cannot be opened`, error);
    }
    for (const end = Date.now() + lockWait; ; ) {
      try {
        database.run('BEGIN EXCLUSIVE');
        return database;
      } catch (error) {
        if (!String((error as { code?: string }).code).startsWith('SQLITE_BUSY')) {
          throw unavailable(`${file} cannot be locked`, error);
        }
      }
      if (Date.now() >= end) throw busy(`${file} was locked for ${lockWait} ms`);
      await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 4));
    }
  };
  const run = async <T>(work: () => Promise<T>): Promise<T> => {
    const held = await take();
    try {
      return await work();
    } finally {
      held.run('ROLLBACK');
    }
  };

  return {
    hold(work) {
      const turn = last.then(
        () => run(work),
        () => run(work),
      );
      last = turn;
      return turn;
    },
    close() {
      database?.close();
      database = undefined;
    },
  };
}
