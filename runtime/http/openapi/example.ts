import type { TSchema } from '@sinclair/typebox';

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
