import type { ListQuery, OrderTerm, Place } from '../../../../core/ports/store.ts';
import { compareBytes, nameOf, timeOf } from './rows.ts';

/** How the rows of a list are come by. */
export interface Plan {
  /** The index that is walked along. */
  readonly index: string;
  /** What its members begin with. */
  readonly by: OrderTerm['by'];
  readonly descending: boolean;
  /**
   * `as is`: in the order of the list. `groups`: those alike in the first term stand together and are to be sorted.
   * `whole`: all of them are to be sorted.
   */
  readonly sorting: 'as is' | 'groups' | 'whole';
  /** Bound of the index to begin at, as ZRANGE BYLEX wants it. */
  readonly from?: string;
}

export type Condition = readonly [index: string, value: string];

/** Names of the indexes, as `lua/rows.lua` makes them. */
export const indexes = {
  time: (kind: string, account?: string) => `time\0${kind}${account === undefined ? '' : `\0${account}`}`,
  name: (kind: string, account: string) => `name\0${kind}\0${account}`,
  id: (kind: string, account: string) => `id\0${kind}\0${account}`,
  value: (kind: string, [name, value]: Condition, account?: string) =>
    account === undefined
      ? `index\0${kind}\0${name}\0${value}`
      : `own\0${kind}\0${name}\0${account}\0${value}`,
};

/** @param rarest the condition that fewest rows meet, and whether they are few enough to be sorted */
export function planOf(
  query: Pick<ListQuery, 'account' | 'after'> & { kind: string; order: readonly OrderTerm[] },
  rarest?: { condition: Condition; areFew: boolean },
): Plan {
  const { kind, account, order, after } = query;
  const [first] = order;
  if (!first) throw new Error('an order has terms');
  const { by, descending } = first;
  const byTime = rarest ? indexes.value(kind, rarest.condition, account) : indexes.time(kind, account);
  if (by !== 'createdAt' && (account === undefined || rarest?.areFew)) {
    return { index: byTime, by: 'createdAt', descending: false, sorting: 'whole' };
  }
  const index = by === 'createdAt' ? byTime : indexes[by](kind, account ?? '');
  const isAsIs =
    order.every((term) => term.descending === descending) &&
    order.map((term) => term.by).join() === own[by].join();
  const sorting = isAsIs ? 'as is' : 'groups';
  return { index, by, descending, sorting, ...(after && { from: bound(after, { ...first, isAsIs }) }) };
}

/** Less than zero when the first of two places comes first. */
export function comparison(order: readonly OrderTerm[]): (one: Place, other: Place) => number {
  return (one, other) => {
    for (const { by, descending } of order) {
      const difference =
        by === 'createdAt' ? one.createdAt - other.createdAt : compareBytes(one[by] ?? '', other[by] ?? '');
      if (difference !== 0) return descending ? -difference : difference;
    }
    return 0;
  };
}

/** What the members of an index are made of. */
const own: Readonly<Record<OrderTerm['by'], readonly OrderTerm['by'][]>> = {
  createdAt: ['createdAt', 'id'],
  name: ['name', 'createdAt', 'id'],
  id: ['id'],
};

/** Just after the place, or at the beginning of its group. */
function bound(place: Place, { by, descending, isAsIs }: OrderTerm & { isAsIs: boolean }): string {
  const time = `${timeOf(place.createdAt)}${place.id}`;
  const name = nameOf(place.name ?? '');
  if (isAsIs) return `(${by === 'id' ? place.id : by === 'createdAt' ? time : name + time}`;
  if (by === 'createdAt') {
    return descending ? `(${timeOf(place.createdAt + 1)}` : `[${timeOf(place.createdAt)}`;
  }
  // A name ends in \0, so \1 comes after all of this name and before all that are longer.
  return descending ? `(${name.slice(0, -1)}\u0001` : `[${name}`;
}
