import type { Database } from 'bun:sqlite';
import { Fault } from '../../../../core/base/fault.ts';

/** Marks the file as ours ("Mlrc"), so that a wrong path never gets our tables into another program's database. */
const applicationId = 0x4d6c7263;

/**
 * Migration n brings the schema from version n to n + 1. Released ones are never edited.
 *
 * `entries` carries account, time and row number of its resource: a list by index is then one ordered walk
 * that stops at its limit. `sqlite_sequence` (AUTOINCREMENT) keeps event positions growing across a sweep
 * that empties the log.
 */
const migrations: readonly string[] = [
  `
  CREATE TABLE partitions (
    partition INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL,
    counter INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE actors (
    actor TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL,
    version INTEGER NOT NULL,
    sequence INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE ended (actor TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX ended_at ON ended (at);

  CREATE TABLE causes (cause TEXT PRIMARY KEY, at INTEGER NOT NULL, reply TEXT) STRICT, WITHOUT ROWID;
  CREATE INDEX causes_at ON causes (at);

  CREATE TABLE timers (
    actor TEXT NOT NULL,
    name TEXT NOT NULL,
    due INTEGER NOT NULL,
    PRIMARY KEY (actor, name)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE resources (
    key INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    account TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    indexes TEXT NOT NULL,
    revision INTEGER NOT NULL,
    UNIQUE (kind, id)
  ) STRICT;
  CREATE INDEX resources_newest ON resources (kind, created_at, id);
  CREATE INDEX resources_account ON resources (kind, account, created_at, id);

  CREATE TABLE entries (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    id TEXT NOT NULL,
    account TEXT NOT NULL,
    resource INTEGER NOT NULL,
    PRIMARY KEY (kind, name, value, created_at, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX entries_account ON entries (kind, name, value, account, created_at, id, resource);

  CREATE TABLE events (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    account TEXT NOT NULL,
    stream TEXT NOT NULL,
    body TEXT NOT NULL,
    at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX events_id ON events (id);
  CREATE INDEX events_account ON events (account);
  CREATE INDEX events_at ON events (at);
  CREATE TABLE cursors (consumer TEXT PRIMARY KEY, position INTEGER NOT NULL) STRICT, WITHOUT ROWID;

  CREATE TABLE orders (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    body TEXT NOT NULL
  ) STRICT;
  `,
  // Lists in other orders than by time.
  `
  CREATE INDEX resources_name ON resources (kind, account, name, created_at, id);
  CREATE INDEX resources_id ON resources (kind, account, id);
  `,
  // Jobs. No index by owner: that is asked for once, at a start, and would be written with each claim.
  `
  CREATE TABLE jobs (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    actor TEXT NOT NULL,
    child TEXT NOT NULL,
    input TEXT NOT NULL,
    added_at INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    ready INTEGER NOT NULL,
    owner TEXT
  ) STRICT;
  CREATE INDEX jobs_ready ON jobs (kind, ready, number);
  CREATE INDEX jobs_added ON jobs (kind, added_at);
  CREATE INDEX jobs_actor ON jobs (actor);
  CREATE TABLE job_totals (kind TEXT PRIMARY KEY, count INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  `,
  // How far the command log of each partition is consumed, and which log that is.
  `
  ALTER TABLE partitions ADD COLUMN consumed INTEGER NOT NULL DEFAULT -1;
  CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  `,
  // Partitions may have several owners. What is older does not say whose it is, and is of all of them.
  `
  ALTER TABLE timers ADD COLUMN partition INTEGER;
  ALTER TABLE orders ADD COLUMN partition INTEGER;
  `,
];

/** Brings the schema up to date, all or nothing. Faults: `store.newer`, `store.foreign`. */
export function migrate(db: Database, file: string): { schema: number; migrated: number } {
  const version = number(db, 'user_version');
  const owner = number(db, 'application_id');
  const isEmpty = db.query('SELECT 1 FROM sqlite_schema').get() === null;
  if (owner !== applicationId && !(isEmpty && version === 0)) {
    throw new Fault('store.foreign', { status: 500, message: `${file} is a database of another program` });
  }
  if (version > migrations.length) {
    throw new Fault('store.newer', {
      status: 500,
      message: `${file} has schema ${version}, written by a newer Millrace; this one knows up to ${migrations.length}`,
    });
  }
  const missing = migrations.slice(version);
  if (missing.length > 0) {
    db.transaction(() => {
      for (const migration of missing) db.run(migration);
      db.run(`PRAGMA application_id = ${applicationId}`);
      db.run(`PRAGMA user_version = ${migrations.length}`);
    })();
  }
  return { schema: migrations.length, migrated: missing.length };
}

function number(db: Database, pragma: string): number {
  return Object.values(db.query(`PRAGMA ${pragma}`).get() as Record<string, number>)[0] ?? 0;
}
