import type { SQLQueryBindings } from 'bun:sqlite';
import type { OrderTerm, Place } from '../../../../core/ports/store.ts';

/** What decides the text of a list's query; a test reads the plan of each shape. */
export interface ListShape {
  /** Walks along the entries of an index value, instead of all rows of the kind. */
  readonly byEntry: boolean;
  readonly hasAccount: boolean;
  readonly hasAfter: boolean;
  /** From `fullOrder`. Default newest first. */
  readonly order?: readonly OrderTerm[];
  /** Further index values, looked up for each row walked over: the column `isMatch`, when there are any. */
  readonly others: number;
}

const newestFirst: readonly OrderTerm[] = [
  { by: 'createdAt', descending: true },
  { by: 'id', descending: true },
];

/** Bindings: name and value of each other, kind, [name, value], [account], [those of `afterValues`], limit. */
export function listSql(shape: ListShape): string {
  const { order = newestFirst } = shape;
  const walk = shape.byEntry ? 'w' : 'r';
  const column = (term: OrderTerm) => columnOf(term, walk);
  const matches = `(SELECT 1 FROM entries o WHERE o.kind = ${walk}.kind AND o.name = ? AND o.value = ?
        AND o.created_at = ${walk}.created_at AND o.id = ${walk}.id)`;
  const isMatch = Array.from({ length: shape.others }, () => `EXISTS ${matches}`).join(' AND ');
  const inOrder = order.map((term) => `${column(term)} ${term.descending ? 'DESC' : 'ASC'}`).join(', ');
  const chosen = `
    ${whereSql(shape)}
    ${shape.hasAfter ? `AND ${afterSql(order, column)}` : ''}
    ORDER BY ${inOrder} LIMIT ?`;
  const columns = `r.id, r.account, r.created_at AS createdAt, r.name, r.body, r.revision${
    isMatch && `, ${isMatch} AS isMatch`
  }`;
  if (shape.byEntry) {
    return `SELECT ${columns} FROM entries w CROSS JOIN resources r ON r.key = w.resource ${chosen}`;
  }
  if (hasIndex(order)) return `SELECT ${columns} FROM resources r ${chosen}`;
  // Rows alike in the first term have to be sorted. There may be many, so only what an index has of them is.
  return `
    SELECT ${columns} FROM (SELECT r.key FROM resources r ${chosen}) k CROSS JOIN resources r ON r.key = k.key
    ORDER BY ${inOrder}`;
}

/**
 * The keys of the rows of a shape, newest first, without a look at the rows themselves. Bindings: kind,
 * [name, value], [account], [createdAt, id].
 */
export function keysSql(shape: Omit<ListShape, 'order' | 'others'>): string {
  return `
    SELECT created_at AS createdAt, id FROM ${shape.byEntry ? 'entries w' : 'resources r'} ${whereSql(shape)}
    ${shape.hasAfter ? 'AND (created_at, id) < (?, ?)' : ''} ORDER BY created_at DESC, id DESC`;
}

function whereSql({ byEntry, hasAccount }: Pick<ListShape, 'byEntry' | 'hasAccount'>): string {
  const walk = byEntry ? 'w' : 'r';
  return `
    WHERE ${walk}.kind = ?
    ${byEntry ? 'AND w.name = ? AND w.value = ?' : ''}
    ${hasAccount ? `AND ${walk}.account = ?` : ''}`;
}

/** The bindings of what `afterSql` writes. */
export function afterValues(order: readonly OrderTerm[], place: Place): SQLQueryBindings[] {
  const values = order.map(({ by }) => place[by] ?? '');
  if (isUniform(order)) return values;
  return [values[0] ?? '', ...order.flatMap((_, index) => values.slice(0, index + 1))];
}

/** Rows after a place. A row value where all directions agree; otherwise the bound that an index can use first. */
function afterSql(order: readonly OrderTerm[], column: (term: OrderTerm) => string): string {
  const [first] = order;
  if (!first) throw new Error('an order has terms');
  const sign = ({ descending }: OrderTerm) => (descending ? '<' : '>');
  if (isUniform(order)) {
    return `(${order.map(column).join(', ')}) ${sign(first)} (${order.map(() => '?').join(', ')})`;
  }
  const ways = order.map((term, index) => {
    const equal = order.slice(0, index).map((before) => `${column(before)} = ?`);
    return `(${[...equal, `${column(term)} ${sign(term)} ?`].join(' AND ')})`;
  });
  return `${column(first)} ${sign(first)}= ? AND (${ways.join(' OR ')})`;
}

/** Whether an index of the rows has just this order. */
function hasIndex(order: readonly OrderTerm[]): boolean {
  return isUniform(order) && /^(createdAt|name,createdAt|),?id$/.test(order.map(({ by }) => by).join());
}

function isUniform(order: readonly OrderTerm[]): boolean {
  return order.every(({ descending }) => descending === order[0]?.descending);
}

function columnOf({ by }: OrderTerm, walk: string): string {
  if (by === 'name') return 'r.name';
  return `${walk}.${by === 'createdAt' ? 'created_at' : 'id'}`;
}
