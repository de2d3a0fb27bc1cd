import type { TSchema } from '@sinclair/typebox';
import type { Principal } from '../http/auth.ts';
import type { Caller } from '../http/caller.ts';
import type { FilterField } from '../http/query.ts';

/** A kind of JSON document that the API shows and that other plugins may extend. */
export interface ResourceKind {
  readonly kind: string;
  /** Fields that it has without any plugin: the start refuses a plugin that adds one of them. */
  readonly ownFields?: readonly string[];
}

export function resource(kind: string, options: Omit<ResourceKind, 'kind'> = {}): ResourceKind {
  return { kind, ...options };
}

/** A field that a plugin adds to another plugin's resource. Absent plugin, unknown field. */
export interface Field<T = unknown, K = unknown> {
  readonly resource: ResourceKind;
  readonly name: string;
  readonly schema: TSchema;
  /** Value of a resource that was created without one. `kit` is that of the plugin which adds the field. */
  initial(kit: K): T;
  /** Where the plugin of the resource is off, there is no such field. Otherwise the start refuses that. */
  readonly isOptional?: true;
  /** Schema of the value as answers show it; default: that of what is given. */
  readonly shown?: TSchema;
  /** A change of it is noted in the audit log: of who may do what. */
  readonly isAudited?: true;
  /** Codes that `validate` and `prepare` throw, beyond those of a body. */
  readonly faults?: readonly string[];
  /** Throws a Fault for a value that fits the schema and is wrong all the same. Changes nothing. */
  validate?(value: T, change: FieldChange<K>): Promise<void> | void;
  /** The value as it is stored. Called when every field of the request was found valid. */
  prepare?(value: T, change: FieldChange<K>): Promise<T>;
  /**
   * What is wrong with a stored value, in plain words and with what to do. `values`: of all extension fields of the document,
   * by name.
   */
  issues?(value: T, values: Readonly<Record<string, unknown>>): readonly string[];
}

/**
 * Fields of another plugin's resource that are told when it is shown, and stored nowhere in it: what they say lies in
 * resources of the plugin that tells them. In request bodies they are accepted and ignored, as all that is read only.
 */
export interface Derivation<K = unknown> {
  readonly resource: ResourceKind;
  /** By name; each is optional in answers. */
  readonly schemas: Readonly<Record<string, TSchema>>;
  /**
   * Their values for one object, as it is shown without them; what is absent is left out. It runs for each object of each
   * answer, so it should be cheap where there is nothing to say. When it throws or takes longer than 3 s, the answer does
   * without them; a Fault of the store fails the answer. URLs begin with `caller.baseUrl`.
   */
  of(
    shown: Readonly<Record<string, unknown>>,
    options: { readonly kit: K; readonly caller: Caller },
  ): Derived | undefined | Promise<Derived | undefined>;
}

export interface Derived {
  readonly values: Readonly<Record<string, unknown>>;
  /** What is wrong, in plain words, beside the object's own `issues`. */
  readonly issues?: readonly string[];
}

/** All that enabled plugins tell of one kind. */
export interface DerivationSet {
  /** JSON schemas by field name. */
  readonly schemas: Readonly<Record<string, TSchema>>;
  /** The object with its derived fields. */
  complete<T extends Readonly<Record<string, unknown>>>(shown: T, caller: Caller): Promise<T>;
}

/** @param derivations each with what its plugin is given */
export function derivationSet(
  derivations: readonly { readonly derivation: Derivation; readonly kit: unknown }[],
): DerivationSet {
  return {
    schemas: Object.assign({}, ...derivations.map(({ derivation }) => derivation.schemas)),
    async complete(shown, caller) {
      const derived = await Promise.all(
        derivations.map(({ derivation, kit }) => derivation.of(shown, { kit, caller })),
      );
      return withDerived(shown, derived);
    },
  };
}

function withDerived<T extends Readonly<Record<string, unknown>>>(
  shown: T,
  derived: readonly (Derived | undefined)[],
): T {
  const issues = derived.flatMap((one) => one?.issues ?? []);
  const own = (shown.issues as readonly string[] | undefined) ?? [];
  return Object.assign(
    shown,
    ...derived.map((one) => one?.values),
    issues.length > 0 ? { issues: [...own, ...issues] } : undefined,
  );
}

/** A request that sets fields. */
export interface FieldChange<K> {
  readonly principal: Principal;
  /** Field name → value, of all the extension fields of the document, as they would be after the request. */
  readonly values: Readonly<Record<string, unknown>>;
  /** The same as they are before it; initial values for a new document. */
  readonly former: Readonly<Record<string, unknown>>;
  readonly kit: K;
}

/** @param options `initial`: the value, or how to tell it from the plugin's kit */
export function field<T, K = unknown>(
  kind: ResourceKind,
  name: string,
  options: Omit<Field<T, K>, 'resource' | 'name' | 'initial'> & { initial: T | ((kit: K) => T) },
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
  /** Whether a body names a field whose changes are noted in the audit log. */
  isAudited(body: Body): boolean;
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
    const former = present(stored);
    const values = { ...former };
    for (const { field } of given) values[field.name] = body[field.name];
    for (const { field, kit } of given) {
      await field.validate?.(body[field.name], { principal, values, former, kit });
    }
    const prepared: Record<string, Record<string, unknown>> = {};
    for (const { plugin, field, kit } of given) {
      const value = body[field.name];
      const stores = field.prepare ? await field.prepare(value, { principal, values, former, kit }) : value;
      prepared[plugin] = { ...prepared[plugin], [field.name]: stores };
    }
    return prepared;
  };
  return {
    schemas: Object.fromEntries(fields.map(({ field }) => [field.name, field.schema])),
    shown: Object.fromEntries(fields.map(({ field }) => [field.name, field.shown ?? field.schema])),
    faults: fields.flatMap(({ field }) => field.faults ?? []),
    isAudited: (body) => fields.some(({ field }) => field.isAudited && body[field.name] !== undefined),
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
      for (const { field } of fields) {
        if (field.issues) found.push(...field.issues(values[field.name], values));
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
