import type { Filter, FilterCondition, ListQuery, OrderTerm } from '../ports/store.ts';

/**
 * The order of a list down to the last tie: what was asked for, then `createdAt`, then `id`, these in the
 * direction of the last term. Without any term newest first. Nothing follows `id`, which is unique.
 */
export function fullOrder(order: ListQuery['order']): readonly OrderTerm[] {
  const terms = [...(order ?? [])];
  const byId = terms.findIndex(({ by }) => by === 'id');
  if (byId >= 0) return terms.slice(0, byId + 1);
  const descending = terms.at(-1)?.descending ?? true;
  for (const by of ['createdAt', 'id'] as const) {
    if (!terms.some((term) => term.by === by)) terms.push({ by, descending });
  }
  return terms;
}

/** Likeness of a name to a text, whatever the case: 0 the same, 1 begins with it, 2 contains it, 3 none of these. */
export function nameRank(name: string, text: string): number {
  const [whole, part] = [name.toLowerCase(), text.toLowerCase()];
  if (whole === part) return 0;
  const at = whole.indexOf(part);
  return at === 0 ? 1 : at > 0 ? 2 : 3;
}

/** The rank that has no likeness. */
export const lastNameRank = 3;

/** Whether a document is as all filters want it. A value of another type than the condition's is not. */
export function fits(document: unknown, filters: readonly Filter[]): boolean {
  return filters.every(({ path, absent, is }) => holds(is, valueAt(document, path) ?? absent));
}

function valueAt(document: unknown, path: readonly string[]): unknown {
  let value = document;
  for (const name of path) {
    if (value === null || typeof value !== 'object' || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

function holds(is: FilterCondition, value: unknown): boolean {
  if ('contains' in is) {
    return typeof value === 'string' && value.toLowerCase().includes(is.contains.toLowerCase());
  }
  if ('equals' in is) return value === is.equals;
  return (
    typeof value === 'number' &&
    !(is.gt !== undefined && value <= is.gt) &&
    !(is.gte !== undefined && value < is.gte) &&
    !(is.lt !== undefined && value >= is.lt) &&
    !(is.lte !== undefined && value > is.lte)
  );
}
