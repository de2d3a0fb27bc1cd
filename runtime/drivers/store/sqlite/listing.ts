import type { SQLQueryBindings } from 'bun:sqlite';
import { fits } from '../../../../core/http/listing.ts';
import type { ListScope, OrderTerm, Place, StoredResource } from '../../../../core/ports/store.ts';
import { afterValues, keysSql, listSql } from './list-sql.ts';
import type { Statements } from './statements.ts';

export interface WalkQuery extends ListScope {
  readonly kind: string;
  /** From `fullOrder`. */
  readonly order: readonly OrderTerm[];
  readonly after?: Place;
  /** Rows to walk over, fitting or not. Fewer where they are large. */
  readonly limit: number;
}

/** A stretch of a list. */
export interface Walk {
  readonly rows: readonly StoredResource[];
  /** Where to go on; undefined at the end. */
  readonly rest?: Place;
}

export interface CountQuery {
  readonly kind: string;
  readonly account?: string;
  readonly condition?: Condition;
  readonly after?: Place;
  /** Rows to count in one go. */
  readonly limit: number;
}

/** A stretch that was counted, newest first. */
export interface Counted {
  readonly rows: number;
  /** Where to go on; undefined at the end. */
  readonly rest?: Place;
}

export type Condition = readonly [index: string, value: string];

export interface Listing {
  walk(query: WalkQuery): Walk;
  countRows(query: CountQuery): Counted;
}

type WalkedRow = StoredResource & { isMatch?: 0 | 1 };

/** Matches of a condition that are counted to choose the index; more exact figures would not choose better. */
const enough = 1000;
/** Rows of one read: a page of a list, and the row that tells whether another follows. */
const maxRows = 1001;
/** Characters of their documents: a read may be on the thread that also carries the media, and this much takes it a millisecond. */
const maxCharacters = 131_072;

/**
 * Walks along an index that is already in the order of the list. With several conditions that is the rarest of
 * them, and each row is looked up by key in the others; in an order that their index does not have it is the
 * index of the order, unless a condition is so rare that its rows are sorted sooner.
 */
export function listing(sql: Statements): Listing {
  const countRows = ({ kind, account, condition, after, limit }: CountQuery): Counted => {
    const keys = keysSql({
      byEntry: condition !== undefined,
      hasAccount: account !== undefined,
      hasAfter: after !== undefined,
    });
    const values: SQLQueryBindings[] = [kind, ...(condition ?? []), ...optional(account)];
    if (after) values.push(after.createdAt, after.id);
    const last = sql.prepare<Place>(`${keys} LIMIT 1 OFFSET ?`).get(...values, limit - 1);
    if (last) return { rows: limit, rest: last };
    const count = sql.prepare<{ rows: number }>(`SELECT count(*) AS rows FROM (${keys})`);
    return { rows: count.get(...values)?.rows ?? 0 };
  };

  /** The condition to walk along, if any, and those to look up. Undefined: nothing can match. */
  const planned = (query: WalkQuery) => {
    const conditions: Condition[] = Object.entries(query.where ?? {});
    const isByTime = query.order.every(({ by }, index) => by === (['createdAt', 'id'] as const)[index]);
    if (conditions.length === 0 || (conditions.length === 1 && isByTime)) {
      return { walked: conditions[0], others: [] };
    }
    const { kind, account } = query;
    const ranked = conditions.map((condition) => ({
      condition,
      matches: countRows({ kind, account, condition, limit: enough }).rows,
    }));
    ranked.sort((one, other) => one.matches - other.matches);
    const [rarest, ...others] = ranked;
    if (!rarest || rarest.matches === 0) return undefined;
    if (!isByTime && rarest.matches === enough) return { walked: undefined, others: conditions };
    return { walked: rarest.condition, others: others.map(({ condition }) => condition) };
  };

  return {
    countRows,
    walk(query) {
      checkLimit(query.limit);
      const { kind, account, order, after, limit, filters = [] } = query;
      const plan = planned(query);
      if (!plan) return { rows: [] };
      const text = listSql({
        byEntry: plan.walked !== undefined,
        hasAccount: account !== undefined,
        hasAfter: after !== undefined,
        order,
        others: plan.others.length,
      });
      const values = [
        ...plan.others.flat(),
        kind,
        ...(plan.walked ?? []),
        ...optional(account),
        ...(after ? afterValues(order, after) : []),
        limit,
      ];
      const rows: WalkedRow[] = [];
      let characters = 0;
      for (const row of sql.prepare<WalkedRow>(text).iterate(...values)) {
        rows.push(row);
        characters += row.body.length;
        if (characters > maxCharacters) break;
      }
      const last = rows.at(-1);
      const fitting = rows.filter(
        ({ isMatch, body }) => isMatch !== 0 && (filters.length === 0 || fits(JSON.parse(body), filters)),
      );
      return {
        rows: fitting.map(({ isMatch: _, ...row }) => row),
        ...(last && (rows.length === limit || characters > maxCharacters) && { rest: placeOf(last) }),
      };
    },
  };
}

function placeOf({ createdAt, id, name }: StoredResource): Place {
  return { createdAt, id, name };
}

function optional(account: string | undefined): SQLQueryBindings[] {
  return account === undefined ? [] : [account];
}

/** Bounds what one read can cost the thread it runs on. */
export function checkLimit(limit: number, most = maxRows): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > most) {
    throw new RangeError(`limit ${limit} is outside 1..${most}`);
  }
}
