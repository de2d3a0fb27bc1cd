import type { Database } from 'bun:sqlite';
import type { Statements } from './statements.ts';

/** What the reads of one turn of the event loop see. */
export interface TurnSnapshot {
  /** Before each read. What is read from here to the end of the turn, or to `release`, is of one moment. */
  hold(): void;
  /** The next read sees all that is committed by then. Harmless when nothing is held. */
  release(): void;
}

/**
 * Reads of one turn share a transaction: beginning and ending one for each costs three calls of the system and a look at
 * the write-ahead log, a quarter of the time of a read. It must be released when a write is answered, since whoever hears of
 * that may read in the same turn.
 */
export function turnSnapshot(db: Database, sql: Statements): TurnSnapshot {
  const begin = sql.prepare('BEGIN');
  const commit = sql.prepare('COMMIT');
  let isHeld = false;
  const release = () => {
    if (!isHeld) return;
    isHeld = false;
    // A failed read may have ended it.
    if (db.inTransaction) commit.run();
  };
  return {
    hold() {
      if (isHeld) return;
      begin.run();
      isHeld = true;
      setImmediate(release);
    },
    release,
  };
}
