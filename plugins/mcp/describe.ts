import type { Operation, Operations, Parameter, Schema } from './operations.ts';

/** Levels of a type that are written out. */
const maxDepth = 5;
/** Characters of one type, and of a whole description. */
const maxType = 9000;
const maxDescription = 16_000;
/** Characters of the words about one field. */
const maxWords = 200;

/** An operation in a form that is short and complete enough to call it. */
export function describeOperation(operation: Operation, { schemas }: Operations): string {
  const { name, method, path, summary, parameters, body, answers, obstacle } = operation;
  const typed = (schema: Schema) => cut(typeText(schema, { schemas, depth: 0, indent: '  ' }), maxType);
  const lines = [
    `${name}: ${method} ${path}`,
    summary,
    ...(obstacle === undefined ? [] : [`The tool call cannot run it: ${obstacle}.`]),
    operation.isOpen ? 'It needs no key.' : '',
    ...(parameters.length === 0 ? [] : ['', 'Parameters:']),
    ...parameters.map((one) => `  ${parameterText(one, schemas)}`),
    ...(body === undefined
      ? []
      : ['', `Body${operation.isBodyRequired ? '' : ' (optional)'}:`, `  ${typed(body)}`]),
    '',
    'Answers:',
    ...answers.map(
      ({ status, words, schema }) => `  ${status} ${words}${schema ? `\n  ${typed(schema)}` : ''}`,
    ),
  ];
  return cut(
    lines.filter((line, index) => line !== '' || lines[index - 1] !== '').join('\n'),
    maxDescription,
  );
}

/** One line, as in the answer of a search. */
export function lineOf({ name, method, path, summary, obstacle }: Operation): string {
  return `${name} (${method} ${path}): ${summary}${obstacle === undefined ? '' : ` Not by call: ${obstacle}.`}`;
}

function parameterText(one: Parameter, schemas: Operations['schemas']): string {
  const schema = one.schema ?? one.content?.['application/json']?.schema ?? {};
  const type = typeText(schema, { schemas, depth: 3, indent: '  ' });
  const words = one.description ?? (schema.description as string | undefined);
  const isNeeded = one.required ? '' : ', optional';
  return `${one.name} (${one.in}${isNeeded}): ${type}${words ? ` – ${shortly(words)}` : ''}`;
}

interface TypeOptions {
  readonly schemas: Operations['schemas'];
  readonly depth: number;
  readonly indent: string;
}

/** A schema as TypeScript writes types, with the words about each field behind it. */
function typeText(schema: Schema, options: TypeOptions): string {
  const { schemas, depth } = options;
  const name = refOf(schema);
  if (name !== undefined) {
    const meant = schemas[name];
    return meant === undefined || depth >= maxDepth
      ? name
      : typeText(meant, { ...options, depth: depth + 1 });
  }
  if ('const' in schema) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return schema.enum.map((one) => JSON.stringify(one)).join(' | ');
  const either = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined;
  if (either) return either.map((one) => typeText(one, options)).join(' | ');
  const all = schema.allOf as Schema[] | undefined;
  if (all) return all.map((one) => typeText(one, options)).join(' & ');
  if (schema.type === 'array') {
    const items = typeText((schema.items as Schema | undefined) ?? {}, options);
    return /[|&]/.test(items) && !items.startsWith('{') ? `(${items})[]` : `${items}[]`;
  }
  if (schema.type === 'object' || schema.properties) return objectText(schema, options);
  return scalarText(schema);
}

function objectText(schema: Schema, { schemas, depth, indent }: TypeOptions): string {
  const fields = Object.entries((schema.properties as Readonly<Record<string, Schema>> | undefined) ?? {});
  const inside = { schemas, depth: depth + 1, indent: `${indent}  ` };
  if (fields.length === 0) {
    const [rest] = Object.values((schema.patternProperties as Record<string, Schema> | undefined) ?? {});
    const others = rest ?? (schema.additionalProperties as Schema | boolean | undefined);
    return others !== null && typeof others === 'object' ? `{ [name]: ${typeText(others, inside)} }` : '{}';
  }
  if (depth >= maxDepth) return '{ … }';
  const required = new Set((schema.required as string[] | undefined) ?? []);
  const lines = fields.map(([field, one]) => {
    const target = refOf(one);
    const words = (one.description ?? (target && schemas[target]?.description)) as string | undefined;
    const mark = required.has(field) ? '' : '?';
    return `${indent}  ${field}${mark}: ${typeText(one, inside)}${words ? `; // ${shortly(words)}` : ';'}`;
  });
  return `{\n${lines.join('\n')}\n${indent}}`;
}

function scalarText(schema: Schema): string {
  const { type, minimum, maximum, maxLength, format } = schema;
  const bounds = [
    ...(format === undefined ? [] : [String(format)]),
    ...(minimum === undefined ? [] : [`≥ ${minimum}`]),
    ...(maximum === undefined ? [] : [`≤ ${maximum}`]),
    ...(maxLength === undefined ? [] : [`at most ${maxLength} characters`]),
    ...(schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`]),
  ];
  const name = Array.isArray(type) ? type.join(' | ') : String(type ?? 'any');
  return bounds.length === 0 ? name : `${name} (${bounds.join(', ')})`;
}

function refOf(schema: Schema): string | undefined {
  return typeof schema.$ref === 'string' ? schema.$ref.split('/').at(-1) : undefined;
}

function shortly(words: string): string {
  return cut(words.replace(/\s+/g, ' '), maxWords);
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
