import { type TSchema, Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { Fault } from '../base/fault.ts';
import { didYouMean } from '../base/near-miss.ts';
import type { Filter, ListScope, NumberRange } from '../ports/store.ts';

/** 422 `query.invalid`: each problem names its parameter and what was expected. */
export function invalidQuery(problem: string): Fault {
  return new Fault('query.invalid', { status: 422, message: problem });
}

/** `name=1` or `true`, `name=0` or `false`; undefined when absent. Throws 422 `query.invalid`. */
export function flagOf(query: URLSearchParams, name: string): boolean | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (text === '1' || text === 'true') return true;
  if (text === '0' || text === 'false') return false;
  throw invalidQuery(`${name}: expected 1 or 0`);
}

/** Rows of one page of a list. */
export const maxPage = 1000;

/** `limit` of a list request: default 20, 1..1000. Throws 422 `query.invalid`. */
export function limitOf(query: URLSearchParams): number {
  const text = query.get('limit');
  if (text === null) return 20;
  const limit = Number(text);
  if (/^\d+$/.test(text) && limit >= 1 && limit <= maxPage) return limit;
  throw invalidQuery(`limit: expected a whole number from 1 to ${maxPage}`);
}

/** A field of a resource that its lists can be filtered by. */
export interface FilterField {
  readonly type: 'string' | 'number' | 'boolean';
  /** Where the stored document has it. Default: under the field's own name. */
  readonly path?: readonly string[];
  /** What a document without it counts as. */
  readonly absent?: unknown;
  /** Shown in whole seconds, stored in milliseconds. */
  readonly isSeconds?: boolean;
  /** Of a boolean: the index that has just the rows where it is true, so that nothing is searched for them. */
  readonly trueIndex?: Readonly<Record<string, string>>;
}

/** Filters of one list request: each row is held against all of them. */
const most = 20;

/**
 * `filters=[{"id":"isActive","value":true}]` of a list: text is contained, whatever the case; a number is equal
 * or within `{gt, gte, lt, lte}`; a boolean is equal. Throws 422 `query.invalid`, naming the field.
 */
export function filtersOf(
  query: URLSearchParams,
  fields: Readonly<Record<string, FilterField>>,
): Pick<ListScope, 'where' | 'filters'> {
  const text = query.get('filters');
  if (text === null) return {};
  const given = parsed(text);
  if (!Array.isArray(given)) throw invalidQuery(`filters: expected ${shape}`);
  if (given.length > most) throw invalidQuery(`filters: expected at most ${most}`);
  const filters: Filter[] = [];
  let where: ListScope['where'] = {};
  for (const [index, entry] of given.entries()) {
    if (!isObject(entry)) throw invalidQuery(`filters.${index}: expected {"id", "value"}`);
    const { id, value, ...rest } = entry;
    const [other] = Object.keys(rest);
    if (other !== undefined) {
      throw invalidQuery(`filters.${index}.${other}: unknown field${didYouMean(other, ['id', 'value'])}`);
    }
    if (typeof id !== 'string') throw invalidQuery(`filters.${index}.id: expected the name of a field`);
    const filter = filterBy(id, { value, fields });
    const indexed = value === true ? fields[id]?.trueIndex : undefined;
    if (indexed) where = { ...where, ...indexed };
    else filters.push(filter);
  }
  return { where, filters };
}

/** `filters` of a list with these fields, for its description. */
export function filterSchema(fields: Readonly<Record<string, FilterField>>): TSchema {
  const [first = 'name'] = Object.keys(fields);
  const byField = Object.entries(fields).map(([name, { type }]) =>
    Type.Object({ id: Type.Literal(name), value: values[type] }, { additionalProperties: false }),
  );
  return Type.Array(Type.Union(byField), {
    maxItems: most,
    isJson: true,
    description:
      'All filters must match: text is contained (any case), a number is equal or within `{gt, gte, lt, lte}`, true or false is equal.',
    examples: [[{ id: first, value: 'a' }]],
  });
}

/** One filter on a field by the name that clients know. Throws 422 `query.invalid`. */
export function filterBy(
  name: string,
  options: { value: unknown; fields: Readonly<Record<string, FilterField>> },
): Filter {
  const field = Object.hasOwn(options.fields, name) ? options.fields[name] : undefined;
  if (!field) {
    const known = Object.keys(options.fields);
    const hint = didYouMean(name, known);
    throw invalidQuery(
      `filters: lists cannot be filtered by ${name}; they can by ${known.join(', ')}${hint}`,
    );
  }
  const { path = [name], absent, type } = field;
  const { value } = options;
  if (!Value.Check(values[type], value))
    throw invalidQuery(`filters: ${name}: expected ${expectations[type]}`);
  if (typeof value === 'string') return { path, absent, is: { contains: value } };
  if (typeof value === 'boolean') return { path, absent, is: { equals: value } };
  const is = typeof value === 'number' ? { gte: value, lte: value } : (value as NumberRange);
  return { path, absent, is: field.isSeconds ? inMilliseconds(is) : is };
}

const shape = '[{"id": "<field>", "value": <value>}, …]';
const bounds = ['gt', 'gte', 'lt', 'lte'] as const;
const expectations = {
  string: 'text that it contains',
  number: `a number, or an object of ${bounds.join(', ')}`,
  boolean: 'true or false',
};

const values: Record<FilterField['type'], TSchema> = {
  string: Type.String(),
  number: Type.Union([
    Type.Number(),
    Type.Object(Object.fromEntries(bounds.map((name) => [name, Type.Optional(Type.Number())])), {
      minProperties: 1,
      additionalProperties: false,
    }),
  ]),
  boolean: Type.Boolean(),
};

/** Times are shown rounded down, and a filter means what is shown: `{lte: 5}` still has 5.999. */
function inMilliseconds({ gt, gte, lt, lte }: NumberRange): NumberRange {
  const from = [
    ...(gt === undefined ? [] : [Math.floor(gt) + 1]),
    ...(gte === undefined ? [] : [Math.ceil(gte)]),
  ];
  const to = [
    ...(lt === undefined ? [] : [Math.ceil(lt)]),
    ...(lte === undefined ? [] : [Math.floor(lte) + 1]),
  ];
  return {
    ...(from.length > 0 && { gte: Math.max(...from) * 1000 }),
    ...(to.length > 0 && { lt: Math.min(...to) * 1000 }),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidQuery(`filters: expected JSON, ${shape}`);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}
