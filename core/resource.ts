import type { TSchema } from '@sinclair/typebox';
import type { Principal } from './auth.ts';
import type { FilterField } from './filters.ts';

/** A kind of JSON document that the API shows and that other plugins may extend. */
export interface ResourceKind {
  readonly kind: string;
}

export function resource(kind: string): ResourceKind {
  return { kind };
}

/** A field that a plugin adds to another plugin's resource. Absent plugin, unknown field. */
export interface Field<T = unknown, K = unknown> extends FieldRules<T, K> {
  readonly resource: ResourceKind;
  readonly name: string;
  readonly schema: TSchema;
  /** Value of a resource for which nobody named one. `kit` is that of the plugin which adds the field. */
  initial(kit: K): T;
}

/** What its schema cannot say about a field. */
interface FieldRules<T, K> {
  /** Schema of the value as answers show it; default: that of what is given. */
  readonly shown?: TSchema;
  /** Codes that `validate` and `prepare` throw, beyond those of a body. */
  readonly faults?: readonly string[];
  /** Throws a Fault for a value that fits the schema and is wrong all the same. Changes nothing. */
  validate?(value: T, change: FieldChange<K>): Promise<void> | void;
  /** The value as it is stored. Called when every field of the request was found valid. */
  prepare?(value: T, change: FieldChange<K>): Promise<T>;
  /** What is wrong with a stored value, in plain words and with what to do. */
  issues?(value: T, state: Pick<FieldChange<K>, 'values' | 'kit'>): readonly string[];
}

/** A request that sets fields. */
export interface FieldChange<K> {
  readonly principal: Principal;
  /** Field name → value, of all the extension fields of the document, as they would be after the request. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly kit: K;
}

/** @param options `initial`: the value, or how to tell it from the plugin's kit */
export function field<T, K = unknown>(
  kind: ResourceKind,
  name: string,
  options: { schema: TSchema; initial: T | ((kit: K) => T) } & FieldRules<T, K>,
): Field<T, K> {
  const { initial, ...rest } = options;
  const initially = typeof initial === 'function' ? (initial as (kit: K) => T) : () => initial;
  return { ...rest, resource: kind, name, initial: initially };
}

/** The values of extension fields in one document: plugin id → field → value. */
export type FieldValues = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** All fields that the enabled plugins add to one kind. */
export interface FieldSet {
  /** JSON schemas by field name, to be merged into the schema of a request body. */
  readonly schemas: Readonly<Record<string, TSchema>>;
  /** The same for answers, which have all of them. */
  readonly shown: Readonly<Record<string, TSchema>>;
  /** Codes of what a request that sets them can be refused with. */
  readonly faults: readonly string[];
  /** Values for a new document: what the body names, else each field's initial value. Faults: the fields' own. */
  initial(body: Body, request: { principal: Principal }): Promise<FieldValues>;
  /** The values of just those fields that the body names. Faults: the fields' own. */
  named(body: Body, request: { principal: Principal; stored: FieldValues }): Promise<FieldValues>;
  /** Field name → value, as responses show them. Values of plugins that are off stay stored, unshown. */
  present(values: FieldValues): Record<string, unknown>;
  /** What is wrong with the values that `present` gave, in plain words. */
  issues(values: Readonly<Record<string, unknown>>): string[];
  /** What lists can be filtered by: the fields of a plain type, in documents that keep the values at `path`. */
  filterable(path: string): Record<string, FilterField>;
}

type Body = Readonly<Record<string, unknown>>;

/** @param fields each with the plugin that adds it, and what that plugin is given */
export function fieldSet(
  fields: readonly { readonly plugin: string; readonly field: Field; readonly kit: unknown }[],
): FieldSet {
  const present = (stored: FieldValues): Record<string, unknown> => {
    const shown: Record<string, unknown> = {};
    for (const { plugin, field, kit } of fields) {
      shown[field.name] = stored[plugin]?.[field.name] ?? field.initial(kit);
    }
    return shown;
  };
  const named = async (
    body: Body,
    { principal, stored }: { principal: Principal; stored: FieldValues },
  ): Promise<FieldValues> => {
    const given = fields.filter(({ field }) => body[field.name] !== undefined);
    const values = present(stored);
    for (const { field } of given) values[field.name] = body[field.name];
    for (const { field, kit } of given) {
      await field.validate?.(body[field.name], { principal, values, kit });
    }
    const prepared: Record<string, Record<string, unknown>> = {};
    for (const { plugin, field, kit } of given) {
      const value = body[field.name];
      const stores = field.prepare ? await field.prepare(value, { principal, values, kit }) : value;
      prepared[plugin] = { ...prepared[plugin], [field.name]: stores };
    }
    return prepared;
  };
  return {
    schemas: Object.fromEntries(fields.map(({ field }) => [field.name, field.schema])),
    shown: Object.fromEntries(fields.map(({ field }) => [field.name, field.shown ?? field.schema])),
    faults: fields.flatMap(({ field }) => field.faults ?? []),
    async initial(body, { principal }) {
      const given = await named(body, { principal, stored: {} });
      const values: Record<string, Record<string, unknown>> = {};
      for (const { plugin, field, kit } of fields) {
        const value = given[plugin]?.[field.name] ?? field.initial(kit);
        values[plugin] = { ...values[plugin], [field.name]: value };
      }
      return values;
    },
    named,
    present,
    issues(values) {
      const found: string[] = [];
      for (const { field, kit } of fields) {
        if (field.issues) found.push(...field.issues(values[field.name], { values, kit }));
      }
      return found;
    },
    filterable: (path) =>
      Object.fromEntries(
        fields.flatMap(({ plugin, field, kit }) => {
          const type = field.schema.type === 'integer' ? 'number' : field.schema.type;
          if (type !== 'string' && type !== 'number' && type !== 'boolean') return [];
          return [[field.name, { type, path: [path, plugin, field.name], absent: field.initial(kit) }]];
        }),
      ),
  };
}
