import type { ResourceWrite } from '../../../../core/ports/store.ts';
import { firstMade, madeNumber } from './row-number.ts';
import type { Statements } from './statements.ts';

export interface Rows {
  /** Revision of the stored row, 0 when there is none. */
  revision(row: { kind: string; id: string }): number;
  write(row: ResourceWrite): void;
}

interface StoredRow {
  key: number;
  account: string;
  createdAt: number;
  indexes: string;
  revision: number;
}

/** Writes resource rows and keeps their index entries, touching those only when they change. */
export function rows(sql: Statements): Rows {
  const select = sql.prepare<StoredRow>(
    'SELECT key, account, created_at AS createdAt, indexes, revision FROM resources WHERE kind = ? AND id = ?',
  );
  const insert = sql.prepare(`
    INSERT INTO resources (key, kind, id, account, created_at, name, body, indexes, revision)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1) ON CONFLICT (key) DO NOTHING`);
  const nextNumber = sql.prepare<{ key: number }>(
    `SELECT coalesce(max(key), 0) + 1 AS key FROM resources WHERE key < ${firstMade}`,
  );
  const update = sql.prepare(`
    UPDATE resources SET account = ?, created_at = ?, name = ?, body = ?, indexes = ?, revision = revision + 1
    WHERE key = ?`);
  const remove = sql.prepare('DELETE FROM resources WHERE key = ?');
  const addEntry = sql.prepare(`
    INSERT INTO entries (kind, name, value, created_at, id, account, resource) VALUES (?, ?, ?, ?, ?, ?, ?)`);
  const removeEntry = sql.prepare(`
    DELETE FROM entries WHERE kind = ? AND name = ? AND value = ? AND created_at = ? AND id = ?`);

  /** Its number. */
  const add = (row: ResourceWrite, indexes: string): number => {
    const { kind, id, account, createdAt, name, body } = row;
    const insertAt = (key: number) =>
      insert.run(key, kind, id, account, createdAt, name, body, indexes).changes > 0;
    const made = madeNumber(kind, id);
    if (made !== undefined && insertAt(made)) return made;
    const next = nextNumber.get()?.key ?? 1;
    if (!insertAt(next)) throw new Error(`the row number ${next} is taken`);
    return next;
  };
  const addEntries = (row: ResourceWrite, key: number) => {
    for (const [name, value] of Object.entries(row.indexes)) {
      addEntry.run(row.kind, name, value, row.createdAt, row.id, row.account, key);
    }
  };
  const removeEntries = (row: ResourceWrite, stored: StoredRow) => {
    const entries = JSON.parse(stored.indexes) as [string, string][];
    for (const [name, value] of entries) removeEntry.run(row.kind, name, value, stored.createdAt, row.id);
  };

  return {
    revision: (row) => select.get(row.kind, row.id)?.revision ?? 0,
    write(row) {
      const stored = select.get(row.kind, row.id);
      if (row.body === null) {
        if (!stored) return;
        removeEntries(row, stored);
        remove.run(stored.key);
        return;
      }
      const indexes = JSON.stringify(Object.entries(row.indexes));
      if (!stored) {
        addEntries(row, add(row, indexes));
        return;
      }
      update.run(row.account, row.createdAt, row.name, row.body, indexes, stored.key);
      const isIndexedAlike =
        stored.indexes === indexes && stored.account === row.account && stored.createdAt === row.createdAt;
      if (isIndexedAlike) return;
      removeEntries(row, stored);
      addEntries(row, stored.key);
    },
  };
}
