import type { TSchema } from '@sinclair/typebox';

export type JsonSchema = Record<string, unknown>;

/** Collects what has a name of its own (`$id`) while schemas are written. */
export class Schemas {
  readonly components: Record<string, JsonSchema> = {};

  /** As JSON Schema 2020-12; what has an `$id` as a reference to `components.schemas`. */
  written(schema: TSchema): JsonSchema {
    const { $id } = schema;
    if ($id === undefined) return this.#plain(schema);
    this.components[$id] ??= this.#plain(schema);
    return { $ref: `#/components/schemas/${$id}` };
  }

  #plain(schema: TSchema): JsonSchema {
    const json: JsonSchema = {};
    for (const [word, value] of Object.entries(schema)) {
      if (ours.has(word)) continue;
      if (maps.has(word)) json[word] = this.#each(value as Record<string, TSchema>);
      else if (lists.has(word)) json[word] = (value as TSchema[]).map((one) => this.written(one));
      else if (isSchema(word, value)) json[word] = this.written(value as TSchema);
      else json[word] = value;
    }
    if (schema.expected !== undefined) json.description ??= capital(`${schema.expected}.`);
    if (schema.shownPattern !== undefined) json.pattern = schema.shownPattern;
    return withChoices(json);
  }

  #each(schemas: Readonly<Record<string, TSchema>>): Record<string, JsonSchema> {
    return Object.fromEntries(Object.entries(schemas).map(([name, one]) => [name, this.written(one)]));
  }
}

/** Words of ours that JSON Schema does not know. */
const ours = new Set([
  ...['$id', 'expected', 'expectedNames', 'schemes', 'atLeast', 'isJson', 'isRequired'],
  // In place of a pattern that is written so that checking it is cheap.
  'shownPattern',
]);
const maps = new Set(['properties', 'patternProperties']);
const lists = new Set(['anyOf', 'allOf', 'oneOf']);

function isSchema(word: string, value: unknown): boolean {
  return (word === 'items' || word === 'additionalProperties') && typeof value === 'object';
}

/** Literals to choose from are shorter, and known to more readers, as an `enum`. */
function withChoices({ anyOf, ...rest }: JsonSchema): JsonSchema {
  if (!Array.isArray(anyOf)) return rest;
  const values = anyOf.map((one: JsonSchema) => one.const);
  if (values.includes(undefined)) return { ...rest, anyOf };
  const [type] = anyOf.map((one: JsonSchema) => one.type);
  return { ...rest, type, enum: values };
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * A value that shows what a schema means: its own example where it has one, else put together from those of its
 * parts. A test checks that each fits its schema.
 */
export function exampleOf(schema: TSchema): unknown {
  const [example] = (schema.examples as unknown[] | undefined) ?? [];
  if (example !== undefined) return example;
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (schema.anyOf) return exampleOf(schema.anyOf[0]);
  if (schema.type === 'object') {
    const properties = Object.entries((schema.properties ?? {}) as Record<string, TSchema>);
    return Object.fromEntries(properties.map(([name, one]) => [name, exampleOf(one)]));
  }
  if (schema.type === 'array') return [exampleOf(schema.items)];
  if (schema.type === 'boolean') return false;
  if (schema.type === 'string') return 'text';
  return schema.minimum ?? 0;
}
