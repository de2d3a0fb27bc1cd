import type { Said } from './call.ts';

/**
 * The Model Context Protocol over streamable HTTP, without sessions: each POST is answered by itself, as JSON. Both forms that there
 * are: the handshake of 2025 (`initialize`), and requests that carry their revision in `_meta` (2026-07-28).
 */

/** Revisions with a handshake, the newest first. Older ones allow batches. */
export const handshakeRevisions = ['2025-11-25', '2025-06-18'] as const;
/** The revision without one. */
export const statelessRevision = '2026-07-28';
/** ms: how long a client may keep the list of tools; it changes with the release and the plugins. */
const listAge = 300_000;

const meta = {
  revision: 'io.modelcontextprotocol/protocolVersion',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
  server: 'io.modelcontextprotocol/serverInfo',
};

const codes = {
  malformed: -32700,
  invalid: -32600,
  noMethod: -32601,
  badParams: -32602,
  internal: -32603,
  headerMismatch: -32020,
  noRevision: -32022,
} as const;

/** A message as it came, of the right type at its top. */
export interface Message {
  readonly jsonrpc?: unknown;
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** What the protocol needs of the server. */
export interface Server {
  readonly info: { readonly name: string; readonly version: string };
  readonly instructions: string;
  tools(): readonly ToolInfo[];
  /** Undefined: there is no such tool. */
  run(name: string, input: Readonly<Record<string, unknown>>): Promise<Said | undefined>;
}

export interface ToolInfo {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: unknown;
  readonly annotations?: Readonly<Record<string, boolean>>;
}

/** The answer to one message. */
export async function answerMessage(message: Message, given: Given): Promise<Response> {
  const problem = problemOf(message);
  if (problem !== undefined) return refusal({ id: idOf(message), code: 'invalid', message: problem });
  const { method, id } = message as { method?: string; id?: Id };
  // Notifications, and answers to requests that this server never makes.
  if (method === undefined || id === undefined) return new Response(null, { status: 202 });
  const params = isObject(message.params) ? message.params : {};
  const asked = revisionOf(params, given.request.headers);
  const failed =
    'problem' in asked ? asked : headerProblem({ method, params, ...asked }, given.request.headers);
  if (failed) return refusal({ id, ...failed });
  const { isStateless } = asked as { isStateless: boolean };
  const { server } = given;
  const done = (result: object) => {
    const extra = { resultType: 'complete', _meta: { [meta.server]: server.info } };
    return Response.json({ jsonrpc: '2.0', id, result: isStateless ? { ...result, ...extra } : result });
  };
  const kept = isStateless ? { ttlMs: listAge, cacheScope: 'private' } : {};
  if (method === 'tools/list') return done({ ...kept, tools: server.tools() });
  if (method === 'tools/call') return called(params, { id, done, server });
  if (isStateless && method === 'server/discover') {
    const supportedVersions = [statelessRevision];
    return done({ ...kept, supportedVersions, capabilities, instructions: server.instructions });
  }
  if (!isStateless && method === 'initialize') return done(initialized(params, server));
  if (!isStateless && method === 'ping') return done({});
  const status = isStateless ? 404 : 200;
  return refusal({ id, code: 'noMethod', message: `This server has no method ${shortly(method)}.`, status });
}

interface Given {
  readonly request: Request;
  readonly server: Server;
}

type Id = string | number;

/** Tools do not change while the server runs, so nobody is told of changes. */
const capabilities = { tools: { listChanged: false } };

function initialized(params: Params, { info, instructions }: Server): object {
  const wanted = params.protocolVersion;
  const protocolVersion = handshakeRevisions.find((one) => one === wanted) ?? handshakeRevisions[0];
  return { protocolVersion, capabilities, serverInfo: info, instructions };
}

async function called(
  { name, arguments: input = {} }: Params,
  { id, done, server }: { id: Id; done: (result: object) => Response; server: Server },
): Promise<Response> {
  if (typeof name !== 'string' || !isObject(input)) {
    const message = 'tools/call: expected a text as name, and an object as arguments.';
    return refusal({ id, code: 'badParams', message });
  }
  const said = await server.run(name, input);
  if (said === undefined) {
    const names = server.tools().map((tool) => tool.name);
    const message = `There is no tool ${shortly(name)}. There are ${names.join(', ')}.`;
    return refusal({ id, code: 'badParams', message });
  }
  const { text, isError = false } = said;
  return done({ content: [{ type: 'text', text }], isError });
}

type Params = Readonly<Record<string, unknown>>;

function problemOf({ jsonrpc, id, method, params, result, error }: Message): string | undefined {
  if (jsonrpc !== '2.0') return 'Expected "jsonrpc": "2.0".';
  if (id !== undefined && !isId(id)) return 'Expected a text or a whole number as id.';
  if (method === undefined)
    return result === undefined && error === undefined ? 'Expected a method.' : undefined;
  if (typeof method !== 'string') return 'Expected a text as method.';
  if (params !== undefined && !isObject(params)) return 'Expected an object as params.';
  return undefined;
}

/** Longest text that is an id. */
const maxId = 256;

function isId(id: unknown): id is Id {
  return typeof id === 'string' ? id.length <= maxId : Number.isSafeInteger(id);
}

function idOf({ id }: Message): Id | null {
  return isId(id) ? id : null;
}

interface Problem {
  readonly problem: true;
  readonly code: keyof typeof codes;
  readonly message: string;
  readonly data?: unknown;
  readonly status?: number;
}

/** Whether a request is one of the stateless revision: what its `_meta` says, which the header has to repeat. */
function revisionOf(params: Params, headers: Headers): { isStateless: boolean } | Problem {
  const header = headers.get('mcp-protocol-version');
  const envelope = isObject(params._meta) ? params._meta : {};
  const claimed = envelope[meta.revision];
  const problem = (code: keyof typeof codes, message: string, data?: unknown): Problem => ({
    ...{ problem: true, code, message, status: 400 },
    ...(data !== undefined && { data }),
  });
  if (claimed === undefined) {
    if (header === null || handshakeRevisions.some((one) => one === header)) return { isStateless: false };
    // What a client sends that knows only older revisions; it is told ours by `initialize`.
    if (/^20\d\d-\d\d-\d\d$/.test(header) && header < handshakeRevisions[1]) return { isStateless: false };
    if (header === statelessRevision)
      return problem('badParams', `Requests of ${statelessRevision} need params._meta["${meta.revision}"].`);
    return problem('noRevision', 'This server does not have that revision of the protocol.', {
      ...{ supported: [statelessRevision, ...handshakeRevisions], requested: header.slice(0, 40) },
    });
  }
  if (header !== claimed)
    return problem('headerMismatch', 'The header MCP-Protocol-Version and params._meta do not agree.');
  if (claimed !== statelessRevision)
    return problem('noRevision', 'This server does not have that revision of the protocol.', {
      ...{ supported: [statelessRevision, ...handshakeRevisions], requested: String(claimed).slice(0, 40) },
    });
  if (!isObject(envelope[meta.capabilities]))
    return problem('badParams', `Expected an object as params._meta["${meta.capabilities}"].`);
  return { isStateless: true };
}

/** What gateways route by has to be what the body says. */
function headerProblem(
  { method, params, isStateless }: { method: string; params: Params; isStateless: boolean },
  headers: Headers,
): Problem | undefined {
  if (!isStateless) return undefined;
  const wrong = (name: string): Problem => ({
    ...{ problem: true, code: 'headerMismatch', status: 400 },
    message: `The header ${name} is missing, or does not agree with the body.`,
  });
  if (headers.get('mcp-method') !== method) return wrong('Mcp-Method');
  const isNamed = method === 'tools/call' && typeof params.name === 'string';
  if (isNamed && decoded(headers.get('mcp-name')) !== params.name) return wrong('Mcp-Name');
  return undefined;
}

/** Names that a header cannot hold are sent as `=?base64?…?=`. */
function decoded(header: string | null): string | undefined {
  const [, base64] = /^=\?base64\?(.*)\?=$/.exec(header ?? '') ?? [];
  return base64 === undefined ? (header ?? undefined) : Buffer.from(base64, 'base64').toString('utf8');
}

function refusal(given: {
  readonly id: Id | null;
  readonly code: keyof typeof codes;
  readonly message: string;
  readonly data?: unknown;
  readonly status?: number;
}): Response {
  const { id, code, message, data } = given;
  const { status = code === 'invalid' ? 400 : 200 } = given;
  const error = { code: codes[code], message, ...(data !== undefined && { data }) };
  return Response.json({ jsonrpc: '2.0', id, error }, { status });
}

/** A fault of the program, such as a missing key, in the form of the protocol. */
export function faultAnswer(fault: {
  readonly code: string;
  readonly status: number;
  readonly problems: readonly string[];
  readonly retryAfter?: number | undefined;
}): Response {
  const code =
    { 'body.malformed': codes.malformed, 'body.invalid': codes.invalid, internal: codes.internal }[
      fault.code
    ] ?? codes.invalid;
  const error = { code, message: fault.problems.join(' '), data: { code: fault.code } };
  const headers = new Headers();
  if (fault.status === 401) headers.set('www-authenticate', 'Bearer');
  if (fault.retryAfter !== undefined) headers.set('retry-after', String(fault.retryAfter));
  return Response.json({ jsonrpc: '2.0', id: null, error }, { status: fault.status, headers });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function shortly(text: string): string {
  return JSON.stringify(text.slice(0, 60));
}
