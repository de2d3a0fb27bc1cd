import type { TSchema } from '@sinclair/typebox';
import type { FilterField } from './filters.ts';

/** A kind of JSON document that the API shows and that other plugins may extend. */
export interface ResourceKind {
  readonly kind: string;
}

export function resource(kind: string): ResourceKind {
  return { kind };
}

/** A field that a plugin adds to another plugin's resource. Absent plugin, unknown field. */
export interface Field<T = unknown> {
  readonly resource: ResourceKind;
  readonly name: string;
  readonly schema: TSchema;
  /** Value of a new resource whose creator named none. */
  readonly initial: T;
}

export function field<T>(
  kind: ResourceKind,
  name: string,
  options: { schema: TSchema; initial: T },
): Field<T> {
  return { resource: kind, name, schema: options.schema, initial: options.initial };
}

/** The values of extension fields in one document: plugin id → field → value. */
export type FieldValues = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** All fields that the enabled plugins add to one kind. */
export interface FieldSet {
  /** JSON schemas by field name, to be merged into the schema of a request body. */
  readonly schemas: Readonly<Record<string, TSchema>>;
  /** Values for a new document: what the body names, else each field's initial value. */
  initial(body: Readonly<Record<string, unknown>>): FieldValues;
  /** The values of just those fields that the body names. */
  named(body: Readonly<Record<string, unknown>>): FieldValues;
  /** Field name → value, as responses show them. Values of plugins that are off stay stored, unshown. */
  present(values: FieldValues): Record<string, unknown>;
  /** What lists can be filtered by: the fields of a plain type, in documents that keep the values at `path`. */
  filterable(path: string): Record<string, FilterField>;
}

export function fieldSet(fields: readonly { readonly plugin: string; readonly field: Field }[]): FieldSet {
  const pick = (body: Readonly<Record<string, unknown>>, options: { fill: boolean }): FieldValues => {
    const values: Record<string, Record<string, unknown>> = {};
    for (const { plugin, field } of fields) {
      const given = body[field.name];
      if (given === undefined && !options.fill) continue;
      values[plugin] = { ...values[plugin], [field.name]: given === undefined ? field.initial : given };
    }
    return values;
  };
  return {
    schemas: Object.fromEntries(fields.map(({ field }) => [field.name, field.schema])),
    initial: (body) => pick(body, { fill: true }),
    named: (body) => pick(body, { fill: false }),
    present: (values) =>
      Object.fromEntries(
        fields.map(({ plugin, field }) => [field.name, values[plugin]?.[field.name] ?? field.initial]),
      ),
    filterable: (path) =>
      Object.fromEntries(
        fields.flatMap(({ plugin, field }) => {
          const type = field.schema.type === 'integer' ? 'number' : field.schema.type;
          if (type !== 'string' && type !== 'number' && type !== 'boolean') return [];
          return [[field.name, { type, path: [path, plugin, field.name], absent: field.initial }]];
        }),
      ),
  };
}
