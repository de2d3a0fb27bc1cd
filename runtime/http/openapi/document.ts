import type { TSchema } from '@sinclair/typebox';
import { Fault } from '../../../core/base/fault.ts';
import { type Answer, idSchema, type Operation, type Parameters } from '../../../core/http/operation.ts';
import type { FaultTable } from '../../../core/plugin/plugin.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { ErrorResponses, errorSchema, faultsOf } from './errors.ts';
import {
  type DeclaredRoute,
  declaredRoutes,
  isBelow,
  pathNames,
  type RouteGroup,
  templateOf,
  twinProblems,
} from './routes.ts';
import { exampleOf, type JsonSchema, Schemas } from './schema.ts';

/**
 * The OpenAPI 3.1 document of the running program, from what its routes say of themselves.
 * Throws one Fault `boot.invalid` that lists every route which says nothing, or something that is not so.
 */
export function openApi(options: {
  groups: readonly RouteGroup[];
  faults: FaultTable;
  publicUrl: string;
}): OpenApi {
  const { groups, faults, publicUrl } = options;
  const routes = declaredRoutes(groups);
  const problems = [...twinProblems(routes), ...problemsOf(routes, faults)];
  if (problems.length > 0) throw new Fault('boot.invalid', { status: 500, message: problems });

  const schemas = new Schemas();
  const errors = new ErrorResponses(faults);
  const paths: OpenApi['paths'] = {};
  const write = (route: DeclaredRoute, template: string) => {
    paths[template] ??= {};
    paths[template][route.method.toLowerCase()] = written(route, { schemas, errors });
  };
  const direct = routes.filter(({ method }) => method !== 'OPTIONS');
  for (const route of direct) {
    write(route, templateOf(route));
    if (route.method === 'GET') write(headOf(route), templateOf(route));
  }
  for (const route of direct) {
    const preflight = preflightOf(route, routes);
    if (preflight) write(preflight, templateOf(route));
  }
  const components = { ...schemas.components, Error: errorSchema };
  return {
    openapi: '3.1.0',
    info: {
      title: 'Millrace',
      version: packageJson.version,
      summary: packageJson.description,
      description: introduction,
    },
    servers: [{ url: publicUrl }],
    tags: groups
      .filter(({ id }) => direct.some(({ owner }) => owner === id))
      .map(({ id, summary }) => ({ name: id, description: summary })),
    paths,
    components: {
      schemas: Object.fromEntries(Object.entries(components).sort(([a], [b]) => (a < b ? -1 : 1))),
      responses: errors.components,
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'An API key: `Authorization: Bearer <key>`.' },
      },
    },
  };
}

export interface OpenApi {
  readonly openapi: '3.1.0';
  readonly info: Readonly<Record<string, string>>;
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  /** Path template → method in small letters → operation. */
  readonly paths: Record<string, Record<string, JsonSchema>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, JsonSchema>>;
    readonly securitySchemes: Readonly<Record<string, JsonSchema>>;
  };
}

/** What is of no route stands here: an error without a body at each would take its type from generated clients. */
const introduction = `Made by the running server from its own routes: what a switched-off plugin adds is not here.

- Bodies are read as JSON, whatever the content type says; an unknown field is 422.
- Every error is \`{"errors": ["…"], "code": "…"}\`.
- A path that is not here is 404 \`route.not_found\`; another method on one that is, 405 \`route.method_not_allowed\` with \`Allow\`.
- Where the \`Host\` header makes no URL the answer is 400 \`request.malformed\`.
- Address and headers of more than 16 KiB are 431 without a body, before any route is looked for.`;

function problemsOf(routes: readonly DeclaredRoute[], faults: FaultTable): string[] {
  const names = new Map<string, string>();
  return routes.flatMap(({ owner, method, pattern, operation }) => {
    const wrong = (what: string) => `plugin ${owner}: ${method} ${pattern}: ${what}`;
    if (!operation) return [wrong('nothing is said of it; give the route says(…)')];
    const { name } = operation;
    const other = names.get(name);
    names.set(name, `${method} ${pattern}`);
    return [
      ...(other === undefined ? [] : [wrong(`its name ${name} is that of ${other} too`)]),
      ...(operation.faults ?? [])
        .filter((code) => !Object.hasOwn(faults, code))
        .map((code) => wrong(`its fault ${code} is in no table`)),
    ];
  });
}

/** Every GET is answered to a HEAD as well, without the body. */
function headOf(route: DeclaredRoute): DeclaredRoute {
  const operation = route.operation as Operation;
  const answers = Object.entries(operation.answers).map(([status, { content: _, ...rest }]) => [
    status,
    rest,
  ]);
  return {
    ...route,
    method: 'HEAD',
    summary: `${route.summary} Headers alone.`,
    operation: { ...operation, name: `${operation.name}Head`, answers: Object.fromEntries(answers) },
  };
}

/** The route that answers OPTIONS at another's path: its own, or the nearest that ends in `*`. */
function preflightOf(route: DeclaredRoute, routes: readonly DeclaredRoute[]): DeclaredRoute | undefined {
  const [nearest] = routes
    .filter(({ method, pattern }) => method === 'OPTIONS' && covers(pattern, route.pattern))
    .sort((a, b) => b.pattern.length - a.pattern.length);
  if (!nearest?.operation) return undefined;
  const name = `${nearest.operation.name}Of${capital((route.operation as Operation).name)}`;
  const { path } = route.operation as Operation;
  return {
    ...nearest,
    pattern: route.pattern,
    operation: { ...nearest.operation, name, ...(path && { path }) },
  };
}

function covers(pattern: string, other: string): boolean {
  return pattern === other || isBelow(other, pattern);
}

function written(
  route: DeclaredRoute,
  { schemas, errors }: { schemas: Schemas; errors: ErrorResponses },
): JsonSchema {
  const operation = route.operation as Operation;
  const { body, answers, isOpen, query = {}, headers = {} } = operation;
  const inPath = Object.fromEntries(
    pathNames(route).map((name) => [name, operation.path?.[name] ?? idSchema]),
  );
  const repeats: Parameters = route.method === 'POST' && !isOpen ? { 'Idempotency-Key': repeatKey } : {};
  const parameters = [
    ...Object.entries(inPath).map(([name, one]) => parameter('path', { name, schema: one, schemas })),
    ...Object.entries(query).map(([name, one]) => parameter('query', { name, schema: one, schemas })),
    ...Object.entries({ ...headers, ...repeats }).map(([name, one]) =>
      parameter('header', { name, schema: one, schemas }),
    ),
  ];
  return {
    operationId: operation.name,
    summary: route.summary,
    tags: [route.owner],
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        description: bodyWords(body.readOnly),
        required: (body.schema.required ?? []).length > 0,
        content: { 'application/json': contentOf(body.schema, schemas) },
      },
    }),
    ...(operation.file && {
      requestBody: {
        description: 'The file, whatever the content type says, with a length or in chunks.',
        required: true,
        content: Object.fromEntries(operation.file.map((type) => [type, { schema: binary }])),
      },
    }),
    responses: {
      ...Object.fromEntries(Object.entries(answers).map(([status, one]) => [status, answered(one, schemas)])),
      ...errors.of(faultsOf(route.method, operation), { hasBody: route.method !== 'HEAD' }),
    },
    security: isOpen ? [] : [{ key: [] }],
  };
}

const binary = { type: 'string', format: 'binary' } as const;

const repeatKey = {
  type: 'string',
  pattern: '^[\\x21-\\x7e]{1,255}$',
  description: 'A repeat of the request with the same key gets the first answer again, for 24 h.',
} as unknown as TSchema;

function parameter(
  place: 'path' | 'query' | 'header',
  { name, schema, schemas }: { name: string; schema: TSchema; schemas: Schemas },
): JsonSchema {
  const { description, ...rest } = schemas.written(schema);
  const isRequired = place === 'path' || schema.isRequired === true;
  return {
    name,
    in: place,
    ...(isRequired && { required: true }),
    ...(description !== undefined && { description }),
    ...(schema.isJson ? { content: { 'application/json': { schema: rest } } } : { schema: rest }),
  };
}

function answered({ description, content, headers = {} }: Answer, schemas: Schemas): JsonSchema {
  const bodies = Object.entries(content ?? {}).map(([type, schema]) => [
    type,
    type === 'application/json' ? contentOf(schema, schemas) : { schema: schemas.written(schema) },
  ]);
  const heads = Object.entries(headers).map(([name, schema]) => {
    const { description: meaning, ...rest } = schemas.written(schema);
    return [name, { ...(meaning !== undefined && { description: meaning }), schema: rest }];
  });
  return {
    description,
    ...(heads.length > 0 && { headers: Object.fromEntries(heads) }),
    ...(bodies.length > 0 && { content: Object.fromEntries(bodies) }),
  };
}

function contentOf(schema: TSchema, schemas: Schemas): JsonSchema {
  return { schema: schemas.written(schema), example: exampleOf(schema) };
}

function bodyWords(readOnly: readonly string[]): string {
  const words = 'Read as JSON whatever the content type says, at most 1 MiB.';
  return readOnly.length === 0
    ? words
    : `${words} These fields are accepted and ignored: ${readOnly.join(', ')}.`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
