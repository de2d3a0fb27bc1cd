/**
 * Writes sdk/client/api.ts, the types and the table of calls of `millrace/client`, from the OpenAPI document of the program.
 * `bun scripts/client.ts` writes it; test/sdk/client-api.test.ts fails when it is out of date.
 */
import { writeFile } from 'node:fs/promises';
import { loadConfig } from '../config/load.ts';
import { enabledPlugins } from '../config/plugins.ts';
import { world } from '../test/kit/world.ts';

/** The text of sdk/client/api.ts. */
export async function clientApi(): Promise<string> {
  const plugins = (await enabledPlugins(await loadConfig({}))).map(({ plugin }) => plugin);
  await using w = await world({ plugins });
  const { paths, components } = w.document as unknown as Document;
  const calls = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method, operation]) => isCall({ path, method, operation }))
      .map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const named = Object.entries(components.schemas).filter(([name]) => name !== 'Error');
  return [
    '/** Written by scripts/client.ts from the OpenAPI document of the program. Never edit it by hand. */\n',
    ...named.map(([name, schema]) => `export type ${name} = ${typeOf(schema, '')};\n`),
    callOptions,
    '/** The calls of the API that answer with JSON. Each rejects with a `MillraceError` when the server refuses. */',
    'export interface Api {',
    ...calls.map(methodOf),
    '}\n',
    '/** Method, path, and whether a repeat is recognised by its Idempotency-Key. */',
    'export const operations = {',
    ...calls.map(
      ({ path, method, operation }) =>
        `  ${operation.operationId}: { method: '${method}', path: '${path}'${isOnce(operation) ? ', isOnce: true' : ''} },`,
    ),
    '} as const;\n',
    '/** Calls that answer with one page of a list. */',
    'export type ListName =',
    ...calls.filter(isList).map(({ operation }) => `  | '${operation.operationId}'`),
    '  ;',
  ]
    .join('\n')
    .concat('\n')
    .replace(/\n {2};\n$/, ';\n');
}

const callOptions = `/** What every call takes. */
export interface CallOptions {
  readonly signal?: AbortSignal;
  /** On top of those that the client sends. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** For a POST whose repeat is recognised. */
export interface OnceOptions extends CallOptions {
  /** Default: a new one for each call, so that the call can be tried again. */
  readonly idempotencyKey?: string;
}
`;

/** JSON below /api, and the health of the server. The rest are pages, files and signed URLs, which are fetched as they are. */
function isCall({
  path,
  method,
  operation,
}: {
  path: string;
  method: string;
  operation: Operation;
}): boolean {
  const isOfApi = path.startsWith('/api/') || path.startsWith('/health/');
  const answers = Object.entries(operation.responses).filter(([status]) => status < '300');
  const isJson = answers.every(([, { content }]) => !content || 'application/json' in content);
  return isOfApi && isJson && method !== 'head' && method !== 'options';
}

interface Call {
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
}

function methodOf({ path, method, operation }: Call): string {
  const { operationId, summary, parameters = [], requestBody } = operation;
  const of = (place: string) => parameters.filter((one) => one.in === place);
  const [inPath, inQuery] = [of('path'), of('query')];
  const members = [
    ...inPath.map(({ name }) => `readonly ${name}: string`),
    ...(inQuery.length > 0 ? [`readonly query?: ${objectOf(inQuery)}`] : []),
    ...(requestBody
      ? [`readonly body${requestBody.required ? '' : '?'}: ${typeOf(schemaOf(requestBody), '      ')}`]
      : []),
  ];
  const options = isOnce(operation) ? 'OnceOptions' : 'CallOptions';
  const type = members.length > 0 ? `{\n      ${members.join(';\n      ')};\n    } & ${options}` : options;
  const isNeeded = inPath.length > 0 || requestBody?.required === true;
  const answer = Object.entries(operation.responses).find(([status]) => status < '300')?.[1];
  const answered = answer?.content ? typeOf(schemaOf(answer), '  ') : 'undefined';
  return `  /** ${summary} \`${method} ${path}\` */\n  ${operationId}(call${isNeeded ? '' : '?'}: ${type}): Promise<${answered}>;`;
}

function isOnce({ parameters = [] }: Operation): boolean {
  return parameters.some(({ name }) => name === 'Idempotency-Key');
}

function isList({ operation: { responses, parameters = [] } }: Call): boolean {
  return '200' in responses && parameters.some(({ name }) => name === 'cursor');
}

function objectOf(parameters: readonly Parameter[]): string {
  const lines = parameters.map(({ name, required, description, schema, content }) => {
    const type = typeOf(schema ?? schemaOf({ content }), '        ');
    return `${comment(description ?? schema?.description, '        ')}        readonly ${nameOf(name)}${required ? '' : '?'}: ${type};`;
  });
  return `{\n${lines.join('\n')}\n      }`;
}

function schemaOf({ content }: Pick<Answer, 'content'>): Schema {
  return Object.values(content ?? {})[0]?.schema ?? {};
}

/** TypeScript for a JSON schema. `indent`: of the line that it begins on. */
function typeOf(schema: Schema, indent: string): string {
  const { $ref, anyOf, enum: values, items, properties, patternProperties } = schema;
  if ($ref !== undefined) return $ref.slice($ref.lastIndexOf('/') + 1);
  if ('const' in schema) return literal(schema.const);
  // A switch in a query.
  if (values?.length === flags.size && values.every((one) => flags.has(one))) return 'boolean';
  if (values) return values.map(literal).join(' | ');
  if (anyOf) return [...new Set(anyOf.map((one) => typeOf(one, indent)))].join(' | ');
  if (schema.type === 'array') {
    const item = typeOf(items ?? {}, indent);
    return item.includes(' | ') || item.startsWith('{') ? `ReadonlyArray<${item}>` : `readonly ${item}[]`;
  }
  if (properties) {
    const required = new Set(schema.required);
    const lines = Object.entries(properties).map(([name, one]) => {
      const key = `readonly ${nameOf(name)}${required.has(name) ? '' : '?'}`;
      return `${comment(one.description, `${indent}  `)}${indent}  ${key}: ${typeOf(one, `${indent}  `)};`;
    });
    return `{\n${lines.join('\n')}\n${indent}}`;
  }
  if (schema.type === 'object') {
    const [value = {}] = Object.values(patternProperties ?? {});
    return `Readonly<Record<string, ${typeOf(value, indent)}>>`;
  }
  return (
    { string: 'string', number: 'number', integer: 'number', boolean: 'boolean', null: 'null' }[
      schema.type ?? ''
    ] ?? 'unknown'
  );
}

const flags: ReadonlySet<unknown> = new Set(['1', '0', 'true', 'false']);

function nameOf(name: string): string {
  return /^\w+$/.test(name) ? name : literal(name);
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : JSON.stringify(value);
}

function comment(text: string | undefined, indent: string): string {
  return text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '*\\/')} */\n`;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Pick<Answer, 'content'> & { readonly required?: boolean };
  readonly responses: Readonly<Record<string, Answer>>;
}

interface Parameter extends Pick<Answer, 'content'> {
  readonly name: string;
  readonly in: string;
  readonly required?: boolean;
  readonly description?: string;
  readonly schema?: Schema;
}

interface Answer {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>> | undefined;
}

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
}

if (import.meta.main) {
  await writeFile(new URL('../sdk/client/api.ts', import.meta.url), await clientApi());
}
