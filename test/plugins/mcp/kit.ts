import type { World } from '../../kit/world.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers of all kinds
type Anything = any;

interface RpcOptions {
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Sends one message, without a handshake before it. */
export async function rpc(w: World, message: unknown, options: RpcOptions = {}) {
  const { key, headers } = options;
  const given = { body: message, ...(key !== undefined && { key }), ...(headers && { headers }) };
  return w.request('POST', '/mcp', given);
}

/** Calls a tool, and answers with its text. */
export async function tool(
  w: World,
  name: string,
  { input = {}, ...options }: RpcOptions & { readonly input?: unknown } = {},
): Promise<{ text: string; isError: boolean }> {
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } };
  const { body } = await rpc(w, message, options);
  if (!body.result) throw new Error(`no result: ${JSON.stringify(body)}`);
  const [{ text }] = body.result.content as Anything[];
  return { text, isError: body.result.isError };
}

/** The body that a call of an operation is answered with. */
export async function called(
  w: World,
  operation: string,
  options: RpcOptions & { input?: object } = {},
): Promise<Anything> {
  const { input, ...rest } = options;
  const { text } = await tool(w, 'call', { ...rest, input: { operation, ...input } });
  return JSON.parse(text.slice(text.indexOf('\n') + 1));
}
