import {
  type IntegerOptions,
  type NumberOptions,
  type ObjectOptions,
  type SchemaOptions,
  type StringOptions,
  type TLiteral,
  type TObject,
  type TProperties,
  type TUnion,
  Type,
} from '@sinclair/typebox';

/** Schemas of fields that may be absent. */
export const optional = {
  string: (options?: StringOptions) => Type.Optional(Type.String(options)),
  number: (options?: NumberOptions) => Type.Optional(Type.Number(options)),
  integer: (options?: IntegerOptions) => Type.Optional(Type.Integer(options)),
  boolean: (options?: SchemaOptions) => Type.Optional(Type.Boolean(options)),
};

/** An object with these fields and no others. */
export function object<P extends TProperties>(properties: P, options: ObjectOptions = {}): TObject<P> {
  return Type.Object(properties, { ...options, additionalProperties: false });
}

/** One of these values. */
export function oneOf<const T extends string | number>(
  values: readonly T[],
  options: SchemaOptions = {},
): TUnion<TLiteral<T>[]> {
  return Type.Union(
    values.map((value) => Type.Literal(value)),
    options,
  );
}
