import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { broadcast } from '../e2e/harness/ffmpeg.ts';
import { type Server, startServer } from '../e2e/harness/server.ts';
import { until } from '../e2e/harness/wait.ts';

// The published client of the Model Context Protocol, unmodified, against a real server.
const published = join(import.meta.dirname, 'node_modules/@modelcontextprotocol/client/dist/index.mjs');
// biome-ignore lint/suspicious/noExplicitAny: its types are only there once e2e has installed it
const { Client, StreamableHTTPClientTransport } = (await import(published)) as any;
// biome-ignore lint/suspicious/noExplicitAny: as above
type Client = any;

let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(async () => server[Symbol.asyncDispose]());

/** `isStateless`: by the revision of 2026; otherwise by the handshake of 2025. */
async function connect({ key = server.key, isStateless = false } = {}): Promise<Client> {
  const client = new Client(
    { name: 'millrace-test', version: '1.0.0' },
    isStateless ? { versionNegotiation: { mode: { pin: '2026-07-28' } } } : {},
  );
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), { requestInit }));
  return client;
}

async function say(client: Client, name: string, given: Record<string, unknown>) {
  const { content, isError } = await client.callTool({ name, arguments: given });
  const [first] = content as { type: string; text: string }[];
  return { text: first?.text ?? '', isError };
}

test.for([false, true])('finds, describes and calls operations (stateless: %s)', async (isStateless) => {
  const client = await connect({ isStateless });
  expect(client.getServerVersion()).toMatchObject({ name: 'millrace' });
  const { tools } = await client.listTools();
  expect(tools.map(({ name }: { name: string }) => name)).toEqual(['search', 'describe', 'call', 'diagnose']);
  expect((await say(client, 'search', { words: 'create a live stream' })).text).toMatch(/^createStream /);
  expect((await say(client, 'describe', { operation: 'createStream' })).text).toContain('POST /api/stream');
  const made = await say(client, 'call', { operation: 'createStream', body: { name: 'By MCP ✓' } });
  expect(made.isError).toBe(false);
  const stream = JSON.parse(made.text.slice(made.text.indexOf('\n') + 1));
  expect(await server.api.getStream(stream.id)).toMatchObject({ name: 'By MCP ✓' });
  await expect(client.callTool({ name: 'nothing', arguments: {} })).rejects.toThrow('There is no tool');
  await client.close();
});

test('does what the key may do, and deletes only where it says so', async () => {
  const stream = await server.api.createStream({ name: 'kept' });
  const keyWith = async (methods: readonly string[]) => {
    const access = { rules: [{ resources: ['stream', 'stream/:id'], methods }] };
    const answer = await server.api.request('POST', '/api/api-token', { name: 'K', access });
    return ((await answer.json()) as { key: string }).key;
  };
  const reader = await connect({ key: await keyWith(['get']) });
  const refused = await say(reader, 'call', { operation: 'createStream', body: { name: 'No' } });
  expect(refused).toEqual({ isError: true, text: expect.stringContaining('auth.not_allowed') });
  const deletion = { operation: 'deleteStream', parameters: { id: stream.id } };
  const all = await connect();
  for (const client of [reader, all])
    expect(await say(client, 'call', deletion)).toMatchObject({ isError: true });
  expect(await server.api.getStream(stream.id)).toMatchObject({ name: 'kept' });
  const deleter = await connect({ key: await keyWith(['get', 'delete']) });
  expect(await say(deleter, 'call', deletion)).toMatchObject({ isError: false });
  await expect(connect({ key: 'wrong' })).rejects.toThrow();
  await Promise.all([reader, all, deleter].map((client) => client.close()));
});

test('hostile messages do no harm', async () => {
  const headers = { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' };
  const post = async (body: string) =>
    (await fetch(`${server.url}/mcp`, { method: 'POST', headers, body })).status;
  const call = (given: unknown) =>
    post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: given }));
  expect(await post('{')).toBe(400);
  expect(await post('['.repeat(250_000))).toBe(400);
  expect(await post(`{"jsonrpc":"2.0","id":1,"method":"${'x'.repeat(300_000)}"}`)).toBe(413);
  expect(await post('[{"jsonrpc":"2.0","id":1,"method":"ping"}]')).toBe(422);
  expect(
    await call({ name: 'call', arguments: { operation: 'getStream', parameters: { id: '../../mcp' } } }),
  ).toBe(200);
  expect(await call({ name: 'search', arguments: { words: 'a '.repeat(100_000) } })).toBe(200);
  expect((await fetch(`${server.url}/mcp`, { headers })).status).toBe(405);
  const client = await connect();
  await client.ping();
  await client.close();
});

test('a diagnosis names a key-frame interval of 10 s', async () => {
  const stream = await server.api.createStream({ name: 'rare keys' });
  await using encoder = broadcast(server.ingestUrl(stream.streamKey), { source: 'rareKeys' });
  const client = await connect();
  const diagnosis = async () => (await say(client, 'diagnose', { stream: stream.id })).text;
  await until(
    'the diagnosis',
    async () => /key-frame interval is too long: up to (9|10)/.test(await diagnosis()),
    {
      within: 60_000,
      every: 1000,
    },
  );
  expect(encoder.isRunning, encoder.log).toBe(true);
  expect(await diagnosis()).toMatch(/Set it to 2 s[\s\S]*on the air: the playlist works/);
  await client.close();
});
