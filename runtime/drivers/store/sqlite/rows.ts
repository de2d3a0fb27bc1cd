import type { ResourceWrite } from '../../../../core/ports/store.ts';
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
    INSERT INTO resources (kind, id, account, created_at, name, body, indexes, revision)
    VALUES (?, ?, ?, ?, ?, ?, ?, 1)`);
  const update = sql.prepare(`
    UPDATE resources SET account = ?, created_at = ?, name = ?, body = ?, indexes = ?, revision = revision + 1
    WHERE key = ?`);
  const remove = sql.prepare('DELETE FROM resources WHERE key = ?');
  const addEntry = sql.prepare(`
    INSERT INTO entries (kind, name, value, created_at, id, account, resource) VALUES (?, ?, ?, ?, ?, ?, ?)`);
  const removeEntry = sql.prepare(`
    DELETE FROM entries WHERE kind = ? AND name = ? AND value = ? AND created_at = ? AND id = ?`);

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
        const { kind, id, account, createdAt, name, body } = row;
        const { lastInsertRowid } = insert.run(kind, id, account, createdAt, name, body, indexes);
        addEntries(row, Number(lastInsertRowid));
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
