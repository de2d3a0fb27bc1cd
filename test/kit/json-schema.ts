/** What a JSON schema says of a value, as far as the words go that our OpenAPI document uses; another word is an error. */
export type Schema = Readonly<Record<string, unknown>>;

/** What does not fit, each with its place; empty when all does. `root` is the document that `$ref` points into. */
export function misfits(value: unknown, schema: Schema, root: unknown, at = ''): string[] {
  return Object.entries(schema).flatMap(([word, rule]) => {
    const check = words[word];
    if (check) return check({ value, rule, schema, root, at });
    return silent.has(word) ? [] : [`${at}: the schema has the unknown word ${word}`];
  });
}

interface Case {
  readonly value: unknown;
  // biome-ignore lint/suspicious/noExplicitAny: what a word wants depends on the word
  readonly rule: any;
  readonly schema: Schema;
  readonly root: unknown;
  readonly at: string;
}

const silent = new Set(['description', 'examples', 'default', 'title']);

const words: Record<string, (one: Case) => string[]> = {
  $ref: ({ value, rule, root, at }) => misfits(value, pointed(rule, root), root, at),
  type: ({ value, rule, at }) => unless(isType(value, rule), at, `${show(value)} is no ${rule}`),
  const: ({ value, rule, at }) => unless(value === rule, at, `${show(value)} is not ${show(rule)}`),
  enum: ({ value, rule, at }) => unless(rule.includes(value), at, `${show(value)} is none of ${show(rule)}`),
  allOf: ({ value, rule, root, at }) => rule.flatMap((one: Schema) => misfits(value, one, root, at)),
  anyOf: ({ value, rule, root, at }) =>
    unless(
      rule.some((one: Schema) => misfits(value, one, root).length === 0),
      at,
      `${show(value)} fits no choice`,
    ),
  minimum: ({ value, rule, at }) => unless(!(Number(value) < rule), at, `${value} is below ${rule}`),
  maximum: ({ value, rule, at }) => unless(!(Number(value) > rule), at, `${value} is above ${rule}`),
  minLength: ({ value, rule, at }) => unless(lengthOf(value) >= rule, at, 'too short'),
  maxLength: ({ value, rule, at }) => unless(lengthOf(value) <= rule, at, 'too long'),
  pattern: ({ value, rule, at }) =>
    unless(new RegExp(rule, 'u').test(String(value)), at, `${show(value)} is not like ${rule}`),
  minItems: ({ value, rule, at }) => unless((value as unknown[]).length >= rule, at, 'too few'),
  maxItems: ({ value, rule, at }) => unless((value as unknown[]).length <= rule, at, 'too many'),
  minProperties: ({ value, rule, at }) => unless(Object.keys(value ?? {}).length >= rule, at, 'too few'),
  maxProperties: ({ value, rule, at }) => unless(Object.keys(value ?? {}).length <= rule, at, 'too many'),
  items: ({ value, rule, root, at }) =>
    Array.isArray(value) ? value.flatMap((one, index) => misfits(one, rule, root, `${at}.${index}`)) : [],
  required: ({ value, rule, at }) =>
    isObject(value)
      ? rule.flatMap((name: string) => unless(Object.hasOwn(value, name), `${at}.${name}`, 'is missing'))
      : [],
  properties: ({ value, rule, root, at }) =>
    entriesOf(value).flatMap(([name, one]) =>
      Object.hasOwn(rule, name) ? misfits(one, rule[name], root, `${at}.${name}`) : [],
    ),
  patternProperties: ({ value, rule, root, at }) =>
    entriesOf(value).flatMap(([name, one]) =>
      Object.entries(rule as Record<string, Schema>).flatMap(([pattern, inner]) =>
        new RegExp(pattern, 'u').test(name) ? misfits(one, inner, root, `${at}.${name}`) : [],
      ),
    ),
  additionalProperties: ({ value, rule, schema, at }) => {
    if (rule !== false) return [`${at}: additionalProperties other than false is not expected`];
    const named = Object.keys((schema.properties ?? {}) as object);
    const patterns = Object.keys((schema.patternProperties ?? {}) as object);
    return entriesOf(value).flatMap(([name]) =>
      unless(
        named.includes(name) || patterns.some((pattern) => new RegExp(pattern, 'u').test(name)),
        `${at}.${name}`,
        'is not in the schema',
      ),
    );
  },
};

/** What a `$ref` stands for. */
export function pointed(reference: string, root: unknown): Schema {
  const found = reference
    .slice(2)
    .split('/')
    .reduce<unknown>((place, name) => (place as Record<string, unknown>)?.[name], root);
  if (found === undefined) throw new Error(`${reference} points to nothing`);
  return found as Schema;
}

function isType(value: unknown, type: string): boolean {
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'number') return Number.isFinite(value);
  if (type === 'array') return Array.isArray(value);
  if (type === 'object') return isObject(value);
  if (type === 'null') return value === null;
  return typeof value === type;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function entriesOf(value: unknown): [string, unknown][] {
  return isObject(value) ? Object.entries(value) : [];
}

/** JSON Schema counts characters, not the units of UTF-16. */
function lengthOf(value: unknown): number {
  return [...String(value)].length;
}

function unless(holds: boolean, at: string, problem: string): string[] {
  return holds ? [] : [`${at || 'body'}: ${problem}`];
}

function show(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 200) ?? String(value);
}
