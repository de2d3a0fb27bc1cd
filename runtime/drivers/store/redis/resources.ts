import { fits, fullOrder } from '../../../../core/http/listing.ts';
import type {
  ListQuery,
  ListScope,
  OrderTerm,
  Place,
  ResourceReader,
  RowPlace,
  StoredResource,
} from '../../../../core/ports/store.ts';
import { rankedPage } from '../ranked-page.ts';
import { checkLimit } from './check-limit.ts';
import type { Engine } from './engine.ts';
import { type IndexEntry, walkIndex } from './index-walk.ts';
import { type Keys, likelyShard, type Shard } from './keys.ts';
import { redisLimits } from './limits.ts';
import type { Link } from './link.ts';
import { type Condition, comparison, indexes, type Plan, planOf } from './plan.ts';
import { compareBytes, type IndexedRow, placeOf, rowOf } from './rows.ts';

const stretch = redisLimits.stretch;

export interface ResourcesOptions {
  readonly link: Link;
  readonly engine: Engine;
  readonly keys: Keys;
  /** All that there are; the plain one is the last. */
  shards(): Promise<readonly Shard[]>;
  /** Whether the data has names from before they were drawn to lie beside their actors. */
  hasOldNames(): boolean;
}

/**
 * Reads rows from all shards. Round trips: `get` 1 for a row of its id's partition or a plain one, else 2; `find` and
 * `count` by one condition 1; whoever says where the row is asks no more than that shard. `list` 2 for its first stretch (places, then rows), 1 more when it has to choose between conditions.
 */
export function resources(options: ResourcesOptions): ResourceReader {
  const { link, engine, keys, shards, hasOldNames } = options;

  const rowsIn = (kind: string) => `rows\0${kind}`;

  /** Shards to look in, one group after the other until it is found. `name`: what tells the partition of its own row. */
  const placesOf = async (name: string, { isPlain, isBeside }: RowPlace): Promise<readonly Shard[][]> => {
    if (isPlain) return [['plain']];
    const all = await shards();
    const own = likelyShard(name, all.length - 1);
    if (isBeside && !hasOldNames()) return [[own]];
    const likely = new Set<Shard>(isBeside ? [own] : [own, 'plain']);
    return [[...likely], all.filter((shard) => !likely.has(shard))];
  };

  const get: ResourceReader['get'] = async (kind, id, place = {}) => {
    for (const some of await placesOf(id, place)) {
      const stored = await Promise.all(
        some.map((shard) => link.read(['HGET', keys.of(shard, rowsIn(kind)), id])),
      );
      const found = stored.find((one) => one !== null);
      if (found) return rowOf(id, found as string).row;
    }
    return undefined;
  };

  const find: ResourceReader['find'] = async (kind, index, value, place = {}) => {
    const isKnown = place.isPlain || place.isBeside;
    // The newest of all may be anywhere.
    const places = isKnown ? await placesOf(value, place) : [await shards()];
    for (const some of places) {
      const found = (await Promise.all(
        some.map((shard) => engine.look('find', keys.of(shard, 'head'), [kind, index, value])),
      )) as [string, string][];
      let newest: [string, string] | undefined;
      for (const one of found) {
        if (one.length > 0 && (!newest || compareBytes(one[0], newest[0]) > 0)) newest = one;
      }
      if (newest) return rowOf(placeOf(newest[0], 'createdAt').id, newest[1]).row;
    }
    return undefined;
  };

  const size = async (index: string): Promise<number> => {
    const sizes = await Promise.all(
      (await shards()).map((shard) => link.read(['ZCARD', keys.of(shard, index)])),
    );
    return (sizes as number[]).reduce((sum, one) => sum + one, 0);
  };

  /** In the order of the entries. What has gone from its place since the index was read is left out. */
  const rowsOf = async (kind: string, entries: readonly IndexEntry[], by: Plan['by']) => {
    const asked = new Map<Shard, string[]>();
    const places = entries.map(({ member, shard }) => {
      const place = placeOf(member, by);
      const list = asked.get(shard);
      if (list) list.push(place.id);
      else asked.set(shard, [place.id]);
      return place;
    });
    const stored = new Map<Shard, (string | null)[]>();
    await Promise.all(
      [...asked].map(async ([shard, list]) => {
        const answer = await link.read(['HMGET', keys.of(shard, rowsIn(kind)), ...list]);
        stored.set(shard, (answer as (string | null)[]).reverse());
      }),
    );
    return entries.flatMap(({ shard }, at) => {
      const text = stored.get(shard)?.pop();
      const place = places[at];
      const found = text && place ? rowOf(place.id, text) : undefined;
      return found && (by === 'id' || found.row[by] === place?.[by]) ? found : [];
    });
  };

  /** The condition that fewest rows meet; `undefined` when there is none, `never` when no row meets one of them. */
  const rarestOf = async (kind: string, { account, where = {} }: ListScope) => {
    const conditions: Condition[] = Object.entries(where);
    const sizes = await Promise.all(
      conditions.map(async (condition) => ({
        condition,
        matches: await size(indexes.value(kind, condition, account)),
      })),
    );
    const [rarest] = sizes.sort((one, other) => one.matches - other.matches);
    if (rarest?.matches === 0) return 'never';
    return rarest && { condition: rarest.condition, areFew: rarest.matches <= redisLimits.sorted };
  };

  const planned = async (kind: string, query: Query): Promise<Plan | undefined> => {
    const { where = {}, order } = query;
    const conditions: Condition[] = Object.entries(where);
    const [only] = conditions;
    if (!only) return planOf({ ...query, kind });
    // Walked along in any case: no need to know how many there are.
    if (conditions.length === 1 && order[0]?.by === 'createdAt') {
      return planOf({ ...query, kind }, { condition: only, areFew: false });
    }
    const rarest = await rarestOf(kind, query);
    return rarest === 'never' ? undefined : planOf({ ...query, kind }, rarest);
  };

  /** The rows that fit, stretch by stretch, as the plan has them. `exact`: how many are wanted of those that the index tells. */
  async function* walk(
    kind: string,
    { plan, query, exact }: { plan: Plan; query: Query; exact?: number },
  ): AsyncGenerator<readonly StoredResource[]> {
    const within = { link, keys, shards: await shards() };
    let left = exact ?? Number.POSITIVE_INFINITY;
    for await (const entries of walkIndex(within, { ...plan, wanted: exact ?? stretch })) {
      for (let from = 0; from < entries.length && left > 0; ) {
        const some = entries.slice(from, from + left);
        from += some.length;
        const rows = await rowsOf(kind, some, plan.by);
        const fitting = rows.filter((row) => isWithin(row, query));
        left -= fitting.length;
        yield fitting.map(({ row }) => row);
      }
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
    const { limit, likeName, after, ...scope } = query;
    checkLimit(limit, redisLimits.readRows);
    if (likeName !== undefined) {
      const whole = { ...scope, order: fullOrder(undefined) };
      return rankedPage((from) => all(kind, { ...whole, after: from }), { likeName, limit, after });
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
    const found: StoredResource[] = [];
    for await (const rows of stretches) {
      found.push(...rows.slice(0, limit - found.length));
      if (found.length === limit) break;
    }
    return found;
  };

  return {
    get,
    find,
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
