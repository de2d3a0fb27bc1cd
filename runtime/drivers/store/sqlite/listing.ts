import type { SQLQueryBindings } from 'bun:sqlite';
import type { StoredResource } from '../../../../core/ports/store.ts';
import type { Statements } from './statements.ts';

export interface ListQuery {
  readonly kind: string;
  readonly account?: string;
  readonly where?: Readonly<Record<string, string>>;
  readonly after?: { readonly createdAt: number; readonly id: string };
  readonly limit: number;
}

type Condition = readonly [name: string, value: string];

/** Beyond this many matches a condition counts as "many"; more exact figures would not choose better. */
const enough = 1000;

/**
 * Lists resources newest first. Every list is one walk along an index that is already in order; with several
 * conditions it walks along the rarest, and looks each row up by key in the others.
 */
export function listing(sql: Statements): (query: ListQuery) => StoredResource[] {
  const rank = (query: ListQuery, condition: Condition): number => {
    const scope = query.account === undefined ? '' : 'AND account = ?';
    const count = sql.prepare<{ matches: number }>(`
      SELECT count(*) AS matches FROM (
        SELECT 1 FROM entries WHERE kind = ? AND name = ? AND value = ? ${scope} LIMIT ${enough})`);
    return count.get(query.kind, ...condition, ...optional(query.account))?.matches ?? 0;
  };

  return (query) => {
    checkLimit(query.limit);
    let conditions: Condition[] = Object.entries(query.where ?? {});
    if (conditions.length > 1) {
      const ranked = conditions.map((condition) => ({ condition, matches: rank(query, condition) }));
      ranked.sort((one, other) => one.matches - other.matches);
      if (ranked[0]?.matches === 0) return [];
      conditions = ranked.map(({ condition }) => condition);
    }
    const [walked, ...others] = conditions;
    const text = listSql({
      byEntry: walked !== undefined,
      hasAccount: query.account !== undefined,
      hasAfter: query.after !== undefined,
      others: others.length,
    });
    const values: SQLQueryBindings[] = [query.kind, ...(walked ?? []), ...optional(query.account)];
    if (query.after) values.push(query.after.createdAt, query.after.id);
    values.push(...others.flat(), query.limit);
    return sql.prepare<StoredResource>(text).all(...values);
  };
}

/** The text of a list; a test reads the query plan of each shape. */
export function listSql(shape: {
  byEntry: boolean;
  hasAccount: boolean;
  hasAfter: boolean;
  others: number;
}): string {
  const walk = shape.byEntry ? 'w' : 'r';
  const from = shape.byEntry ? 'entries w CROSS JOIN resources r ON r.key = w.resource' : 'resources r';
  return `
    SELECT r.id, r.account, r.created_at AS createdAt, r.name, r.body, r.revision FROM ${from}
    WHERE ${walk}.kind = ?
    ${shape.byEntry ? 'AND w.name = ? AND w.value = ?' : ''}
    ${shape.hasAccount ? `AND ${walk}.account = ?` : ''}
    ${shape.hasAfter ? `AND (${walk}.created_at, ${walk}.id) < (?, ?)` : ''}
    ${`AND EXISTS (SELECT 1 FROM entries o WHERE o.kind = ${walk}.kind AND o.name = ? AND o.value = ?
        AND o.created_at = ${walk}.created_at AND o.id = ${walk}.id)`.repeat(shape.others)}
    ORDER BY ${walk}.created_at DESC, ${walk}.id DESC LIMIT ?`;
}

function optional(account: string | undefined): string[] {
  return account === undefined ? [] : [account];
}

/** Bounds what one read can cost the thread it runs on. */
export function checkLimit(limit: number): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000) {
    throw new RangeError(`limit ${limit} is outside 1..1000`);
  }
}
