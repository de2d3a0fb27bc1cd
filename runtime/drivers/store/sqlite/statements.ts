import type { Database, SQLQueryBindings, Statement } from 'bun:sqlite';

/** Prepared statements of one connection, each compiled once. */
export interface Statements {
  prepare<Row>(sql: string): Statement<Row, SQLQueryBindings[]>;
  /** Without this the connection would keep its file open until the garbage collector comes by. */
  finalize(): void;
}

export function statements(db: Database): Statements {
  const cache = new Map<string, Statement<unknown, SQLQueryBindings[]>>();
  return {
    prepare<Row>(sql: string) {
      let statement = cache.get(sql);
      if (!statement) {
        statement = db.prepare<unknown, SQLQueryBindings[]>(sql);
        cache.set(sql, statement);
      }
      return statement as Statement<Row, SQLQueryBindings[]>;
    },
    finalize() {
      for (const statement of cache.values()) statement.finalize();
      cache.clear();
    },
  };
}
