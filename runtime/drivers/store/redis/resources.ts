import { fits, fullOrder } from '../../../../core/http/listing.ts';
import type {
  ListQuery,
  ListScope,
  OrderTerm,
  Place,
  ResourceReader,
  StoredResource,
} from '../../../../core/ports/store.ts';
import { FoundRows } from '../found-rows.ts';
import { rankedPage } from '../ranked-page.ts';
import { type Condition, comparison, indexes, type Plan, planOf } from './plan.ts';
import { checkLimit, stretch } from './reads.ts';
import { type IndexedRow, placeOf, rowOf } from './rows.ts';
import type { StoreParts } from './scripts.ts';

/** Rows of one read: a page of a list, and the row that tells whether another follows. */
const maxRows = 1001;
/** Rows of the first read, before it is known how large they are. */
const firstStretch = 64;
/** Characters of the documents of one read, about. */
const maxCharacters = 1_048_576;
/** Matches of a condition that are read and sorted, for a list by name or id. Beyond: the list goes along the index of its order. */
const maxSorted = 1000;

/**
 * Reads rows. Round trips: `get`, `find` and `count` by one condition 1, `list` 2 for its first stretch (places, then rows) and
 * 1 more when it has to choose between conditions.
 */
export function resources({ link, scripts, key }: StoreParts): ResourceReader {
  const rowsIn = (kind: string) => key(`rows\0${kind}`);
  const size = async (index: string): Promise<number> => Number(await link.read(['ZCARD', key(index)]));

  /** Members of an index in the order of their bytes, in stretches. `wanted`: how many are likely to be. */
  async function* members(
    { index, descending, from }: Plan,
    { wanted, pace }: { wanted: number; pace: { readonly rows: number } },
  ): AsyncGenerator<string[]> {
    for (let first = from ?? (descending ? '+' : '-'); ; ) {
      const most = Math.min(pace.rows, wanted);
      const found = (await link.read([
        ...['ZRANGE', key(index), first, descending ? '-' : '+', 'BYLEX'],
        ...[...(descending ? ['REV'] : []), 'LIMIT', '0', String(most)],
      ])) as string[];
      if (found.length > 0) yield found;
      if (found.length < most) return;
      first = `(${found.at(-1)}`;
    }
  }

  /** In the order of the members. What has gone from its place since the index was read is left out. */
  const rowsOf = async (kind: string, some: readonly string[], by: Plan['by']): Promise<IndexedRow[]> => {
    const places = some.map((member) => placeOf(member, by));
    const stored = (await link.read(['HMGET', rowsIn(kind), ...places.map(({ id }) => id)])) as (
      | string
      | null
    )[];
    return places.flatMap((place, at) => {
      const text = stored[at];
      const found = text ? rowOf(place.id, text) : undefined;
      return found && (by === 'id' || found.row[by] === place[by]) ? found : [];
    });
  };

  /** How to come by the rows; undefined when there are none. */
  const planned = async (kind: string, query: Query): Promise<Plan | undefined> => {
    const { account, where = {}, order } = query;
    const conditions: Condition[] = Object.entries(where);
    const [only] = conditions;
    if (!only) return planOf({ ...query, kind });
    // Walked along in any case: no need to know how many there are.
    if (conditions.length === 1 && order[0]?.by === 'createdAt') {
      return planOf({ ...query, kind }, { condition: only, areFew: false });
    }
    const matches = await Promise.all(
      conditions.map((condition) => size(indexes.value(kind, condition, account))),
    );
    const fewest = Math.min(...matches);
    if (fewest === 0) return undefined;
    const condition = conditions[matches.indexOf(fewest)] as Condition;
    return planOf({ ...query, kind }, { condition, areFew: fewest <= maxSorted });
  };

  /** The rows that fit, stretch by stretch, as the plan has them. `exact`: how many are wanted of those that the index tells. */
  async function* walk(
    kind: string,
    { plan, query, exact }: { plan: Plan; query: Query; exact?: number },
  ): AsyncGenerator<readonly StoredResource[]> {
    const pace = { rows: firstStretch };
    for await (const some of members(plan, { wanted: exact ?? stretch, pace })) {
      const rows = await rowsOf(kind, some, plan.by);
      const characters = rows.reduce((sum, { row }) => sum + row.body.length, 1);
      const fitting = Math.floor((maxCharacters * some.length) / characters);
      pace.rows = Math.max(1, Math.min(fitting, 2 * some.length, stretch));
      yield rows.filter((row) => isWithin(row, query)).map(({ row }) => row);
    }
  }

  /** Every row that fits. */
  async function* all(kind: string, query: Query): AsyncGenerator<readonly StoredResource[]> {
    const plan = await planned(kind, query);
    if (plan) yield* walk(kind, { plan, query });
  }

  /** Of those that the plan has together, the first that the list wants. */
  async function* sorted(
    kind: string,
    { plan, query, limit }: { plan: Plan; query: Query; limit: number },
  ): AsyncGenerator<readonly StoredResource[]> {
    const { after, order } = query;
    const compare = comparison(order);
    let group: StoredResource[] = [];
    for await (const rows of walk(kind, { plan, query })) {
      for (const row of rows) {
        const [other] = group;
        if (other && plan.sorting === 'groups' && other[plan.by] !== row[plan.by]) {
          yield group.sort(compare).slice(0, limit);
          group = [];
        }
        if (!after || compare(row, after) > 0) group.push(row);
        if (group.length >= 2 * limit + stretch) group = group.sort(compare).slice(0, limit);
      }
    }
    yield group.sort(compare).slice(0, limit);
  }

  const list = async (kind: string, query: ListQuery): Promise<StoredResource[]> => {
    const { limit, likeName, after, characters = Number.POSITIVE_INFINITY, ...scope } = query;
    checkLimit(limit, maxRows);
    if (likeName !== undefined) {
      const whole = { ...scope, order: fullOrder(undefined) };
      return rankedPage((from) => all(kind, { ...whole, after: from }), {
        likeName,
        limit,
        characters,
        after,
      });
    }
    const full = { ...scope, after, order: fullOrder(query.order) };
    const plan = await planned(kind, full);
    if (!plan) return [];
    const conditions = Object.keys(scope.where ?? {}).length;
    const isTold = !scope.filters?.length && conditions <= (plan.by === 'createdAt' ? 1 : 0);
    const stretches =
      plan.sorting === 'as is'
        ? walk(kind, { plan, query: full, ...(isTold && { exact: limit }) })
        : sorted(kind, { plan, query: full, limit });
    const found = new FoundRows({ limit, characters });
    for await (const rows of stretches) {
      found.add(rows);
      if (found.isFull) break;
    }
    return found.rows;
  };

  return {
    async get(kind, id) {
      const stored = await link.read(['HGET', rowsIn(kind), id]);
      return stored === null ? undefined : rowOf(id, stored as string).row;
    },
    async find(kind, index, value) {
      const [place, row] = (await scripts.run('find', [kind, index, value], { isRead: true })) as string[];
      return place && row ? rowOf(placeOf(place, 'createdAt').id, row).row : undefined;
    },
    list,
    async count(kind, scope) {
      const conditions: Condition[] = Object.entries(scope.where ?? {});
      const [condition] = conditions;
      if (conditions.length <= 1 && !scope.filters?.length) {
        const { account } = scope;
        return size(condition ? indexes.value(kind, condition, account) : indexes.time(kind, account));
      }
      let total = 0;
      for await (const rows of all(kind, { ...scope, order: fullOrder(undefined) })) total += rows.length;
      return total;
    },
  };
}

type Query = ListScope & { readonly order: readonly OrderTerm[]; readonly after?: Place };

/** Checks what the index has told, too: the row may have changed since. */
function isWithin({ row, indexes }: IndexedRow, { account, where = {}, filters = [] }: ListScope): boolean {
  if (account !== undefined && row.account !== account) return false;
  for (const name in where) if (indexes.get(name) !== where[name]?.toWellFormed()) return false;
  return filters.length === 0 || fits(JSON.parse(row.body), filters);
}
