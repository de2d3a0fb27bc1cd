import { type TObject, type Tool, Type, Value, within } from '../../sdk/plugin.ts';
import { type Asker, callOperation, maxShown, type Said } from './call.ts';
import { clientFor } from './client.ts';
import { describeOperation, lineOf } from './describe.ts';
import { diagnose, type Read, Unreadable } from './diagnosis.ts';
import { type Document, type Operations, operationsOf } from './operations.ts';
import type { ToolInfo } from './protocol.ts';

/** Operations that one search shows. */
const mostFound = 12;
/** ms: a tool of a plugin that takes longer has failed. */
const toolLimit = 30_000;

const schemas = {
  search: Type.Object(
    {
      words: Type.String({ minLength: 1, maxLength: 200, description: 'What it is to do, in a few words.' }),
    },
    { additionalProperties: false },
  ),
  describe: Type.Object(
    { operation: Type.String({ maxLength: 100, description: 'Its name, from a search: createStream.' }) },
    { additionalProperties: false },
  ),
  call: Type.Object(
    {
      operation: Type.String({ maxLength: 100, description: 'Its name, from a search: createStream.' }),
      parameters: Type.Optional(
        Type.Record(Type.String(), Type.Unknown(), {
          description: 'Parameters of path, query and header by name: {"id": "…", "limit": 10}.',
        }),
      ),
      body: Type.Optional(Type.Unknown({ description: 'The body, as JSON.' })),
    },
    { additionalProperties: false },
  ),
  diagnose: Type.Object(
    {
      stream: Type.String({
        ...{ minLength: 1, maxLength: 500 },
        description: 'Id or name of a stream, or the id of one of its sessions.',
      }),
      at: Type.Optional(
        Type.String({
          maxLength: 40,
          description: 'A moment of the session, as in 2026-03-01T10:00:00Z. Default: the newest session.',
        }),
      ),
    },
    { additionalProperties: false },
  ),
};

const readOnly = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

/** In the order of a list of tools. */
const own: readonly (ToolInfo & { readonly inputSchema: TObject })[] = [
  {
    name: 'search',
    title: 'Find operations',
    description:
      'Finds operations of the Millrace API (streams, sessions, assets, uploads, webhooks, multistream targets, playback, …) by words. Use it before describe and call.',
    inputSchema: schemas.search,
    annotations: readOnly,
  },
  {
    name: 'describe',
    title: 'Describe an operation',
    description: 'Shows parameters, body and answers of one operation. Use it before the first call.',
    inputSchema: schemas.describe,
    annotations: readOnly,
  },
  {
    name: 'call',
    title: 'Call an operation',
    description:
      'Runs one operation of the API with the key of the user, and returns status and body. It cannot do more than that key, and deletes only where the access rules of the key name the method delete.',
    inputSchema: schemas.call,
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  },
  {
    name: 'diagnose',
    title: 'Diagnose a broadcast',
    description:
      'Explains what went wrong in a broadcast and when: lost encoders, key frames too far apart, swinging bitrate, refused encoders, failed pushes and webhooks; with the time line of the session in words.',
    inputSchema: schemas.diagnose,
    annotations: readOnly,
  },
];

/** The tools, for each asker. `offered`: those of other plugins; `own`: the path of the server, which no tool calls. */
export function toolsOf(options: { readonly offered: readonly Tool[]; readonly path: string }): {
  readonly list: readonly ToolInfo[];
  /** Undefined: there is no such tool. */
  run(
    name: string,
    given: { input: Readonly<Record<string, unknown>>; asker: Asker },
  ): Promise<Said | undefined>;
} {
  const others = options.offered.filter(({ name }) => !own.some((tool) => tool.name === name));
  const list = [
    ...own,
    ...others.map(({ name, description, input }) => ({ name, description, inputSchema: input })),
  ];
  // The routes do not change while the program runs.
  let operations: Promise<Operations> | undefined;
  const read = (asker: Asker): Promise<Operations> => {
    operations ??= documentFor(asker).then((document) => operationsOf(document, options.path));
    // The next one tries again.
    operations.catch(() => {
      operations = undefined;
    });
    return operations;
  };
  return {
    list,
    async run(name, { input, asker }) {
      const tool = list.find((one) => one.name === name);
      if (!tool) return undefined;
      const problem = problemOf(tool.inputSchema, input);
      if (problem !== undefined) return { text: `${name}: ${problem}`, isError: true };
      const other = others.find((one) => one.name === name);
      if (other) return ofPlugin(other, { input, asker });
      if (name === 'diagnose') return diagnosed(input, asker);
      return ofApi(name, { input, asker, operations: await read(asker) });
    },
  };
}

async function documentFor({ kit, request }: Asker): Promise<Document> {
  return (await kit.ask(request, { method: 'GET', path: '/openapi.json' })).json() as Promise<Document>;
}

async function ofApi(
  name: string,
  given: { input: Readonly<Record<string, unknown>>; asker: Asker; operations: Operations },
): Promise<Said> {
  const { input, asker, operations } = given;
  if (name === 'search') {
    const found = operations.search(String(input.words), mostFound);
    const none = `Nothing was found among ${operations.all.length} operations. Try other words, such as stream, asset, webhook, target, key or task.`;
    return { text: found.length === 0 ? none : found.map(lineOf).join('\n') };
  }
  const operation = operations.find(String(input.operation));
  if (!operation) {
    const near = operations.search(String(input.operation), 3).map((one) => one.name);
    const hint = near.length === 0 ? '' : ` Did you mean ${near.join(', ')}?`;
    return { text: `There is no such operation; find one with search.${hint}`, isError: true };
  }
  if (name === 'describe') return { text: describeOperation(operation, operations) };
  const parameters = (input.parameters ?? {}) as Readonly<Record<string, unknown>>;
  return callOperation({ operation, parameters, body: input.body }, asker);
}

async function diagnosed(input: Readonly<Record<string, unknown>>, asker: Asker): Promise<Said> {
  const at = input.at === undefined ? undefined : Date.parse(String(input.at));
  if (Number.isNaN(at)) return { text: 'at: expected a moment such as 2026-03-01T10:00:00Z.', isError: true };
  try {
    const text = await diagnose(
      { stream: String(input.stream), at },
      { read: readerFor(asker), now: asker.kit.clock.now() },
    );
    return { text };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { text: error.message, isError: true };
  }
}

/** Reads as the asker may. */
function readerFor({ kit, request }: Asker): Read {
  return async (path) => {
    const answer = await kit.ask(request, { method: 'GET', path });
    const body: unknown = await answer.json().catch(() => undefined);
    if (answer.ok) return { body, link: answer.headers.get('link') };
    if (answer.status === 404) return undefined;
    const { errors = [] } = (body ?? {}) as { errors?: readonly string[] };
    throw new Unreadable(errors.join(' ') || `the server answered with ${answer.status}`);
  };
}

async function ofPlugin(
  tool: Tool,
  { input, asker }: { input: Readonly<Record<string, unknown>>; asker: Asker },
): Promise<Said> {
  const { kit, request } = asker;
  const { signal } = request;
  const late = () => new Error(`it took longer than ${toolLimit / 1000} s`);
  try {
    // A tool is called with a client of its own type, which is the one that `millrace/client` exports.
    const running = tool.run({ client: clientFor(asker) as never, input, signal });
    const result = await within(running, { ms: toolLimit, clock: kit.clock, late });
    const text = typeof result === 'string' ? result : (JSON.stringify(result) ?? '');
    return { text: text.length <= maxShown ? text : `${text.slice(0, maxShown)}…` };
  } catch (error) {
    const message = error instanceof Error ? error.message : 'it failed';
    return { text: `${tool.name}: ${message}`, isError: true };
  }
}

/** Problems that one answer names. */
const maxProblems = 5;

function problemOf(schema: unknown, input: unknown): string | undefined {
  if (Value.Check(schema as TObject, input)) return undefined;
  const problems: string[] = [];
  for (const { path, message } of Value.Errors(schema as TObject, input)) {
    problems.push(`${path.slice(1) || 'arguments'}: ${message}`);
    if (problems.length === maxProblems) break;
  }
  return `${problems.join('; ')}.`;
}
