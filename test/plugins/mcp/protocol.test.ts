import { describe, expect, it } from 'vitest';
import { allPlugins } from '../../kit/all-plugins.ts';
import { world } from '../../kit/world.ts';
import { rpc } from './kit.ts';

const plugins = await allPlugins();
const listing = { jsonrpc: '2.0', id: 7, method: 'tools/list' };
const envelope = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

describe('the handshake of 2025', () => {
  it('settles on a revision that both have, or offers the newest', async () => {
    await using w = await world({ plugins });
    for (const [asked, got] of [
      ['2025-11-25', '2025-11-25'],
      ['2025-06-18', '2025-06-18'],
      ['2024-11-05', '2025-11-25'],
      ['2026-07-28', '2025-11-25'],
      [4, '2025-11-25'],
    ]) {
      const params = { protocolVersion: asked, capabilities: {}, clientInfo: { name: 't', version: '1' } };
      const { status, body } = await rpc(w, { jsonrpc: '2.0', id: 'a', method: 'initialize', params });
      expect([status, body.id, body.result]).toEqual([
        ...[200, 'a'],
        expect.objectContaining({
          protocolVersion: got,
          serverInfo: { name: 'millrace', version: expect.any(String) },
        }),
      ]);
    }
    expect((await rpc(w, { jsonrpc: '2.0', method: 'notifications/initialized' })).status).toBe(202);
    expect((await rpc(w, { jsonrpc: '2.0', id: 1, method: 'ping' })).body.result).toEqual({});
    expect((await rpc(w, { jsonrpc: '2.0', id: 1, result: {} })).status).toBe(202);
    const { body } = await rpc(w, listing, { headers: { 'mcp-protocol-version': '2025-06-18' } });
    expect(body.result.tools).toHaveLength(4);
    const unknown = await rpc(w, listing, { headers: { 'mcp-protocol-version': '2031-01-01' } });
    expect([unknown.status, unknown.body.error.code]).toEqual([400, -32022]);
  });
});

describe('the stateless revision', () => {
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };
  const message = { ...listing, params: { _meta: envelope } };

  it('answers requests that say everything themselves', async () => {
    await using w = await world({ plugins });
    const discover = { jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta: envelope } };
    const found = await rpc(w, discover, { headers: { ...headers, 'mcp-method': 'server/discover' } });
    expect(found.body.result).toMatchObject({
      ...{ resultType: 'complete', supportedVersions: ['2026-07-28'], cacheScope: 'private' },
      capabilities: { tools: {} },
    });
    const { body } = await rpc(w, message, { headers });
    expect(body.result).toMatchObject({ resultType: 'complete', ttlMs: expect.any(Number) });
    expect(body.result.tools).toHaveLength(4);
    const params = { _meta: envelope, name: 'search', arguments: { words: 'stream' } };
    const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params };
    const named = { ...headers, 'mcp-method': 'tools/call', 'mcp-name': '=?base64?c2VhcmNo?=' };
    expect((await rpc(w, call, { headers: named })).body.result.isError).toBe(false);
    const old = { jsonrpc: '2.0', id: 3, method: 'ping', params: { _meta: envelope } };
    const gone = await rpc(w, old, { headers: { ...headers, 'mcp-method': 'ping' } });
    expect([gone.status, gone.body.error.code]).toEqual([404, -32601]);
  });

  it('refuses headers that do not say what the body says', async () => {
    await using w = await world({ plugins });
    const wrong = async (given: Record<string, string>, sent: unknown = message) => {
      const { status, body } = await rpc(w, sent, { headers: given });
      return [status, body.id, body.error?.code];
    };
    expect(await wrong({})).toEqual([400, 7, -32020]);
    expect(await wrong({ ...headers, 'mcp-method': 'tools/call' })).toEqual([400, 7, -32020]);
    expect(await wrong({ ...headers, 'mcp-protocol-version': '2025-11-25' })).toEqual([400, 7, -32020]);
    expect(await wrong(headers, listing)).toEqual([400, 7, -32602]);
    const future = { ...envelope, 'io.modelcontextprotocol/protocolVersion': '2030-01-01' };
    const sent = { ...listing, params: { _meta: future } };
    expect(await wrong({ ...headers, 'mcp-protocol-version': '2030-01-01' }, sent)).toEqual([400, 7, -32022]);
    const params = { _meta: envelope, name: 'search', arguments: { words: 'stream' } };
    const call = { jsonrpc: '2.0', id: 7, method: 'tools/call', params };
    expect(await wrong({ ...headers, 'mcp-method': 'tools/call', 'mcp-name': 'call' }, call)).toEqual([
      400, 7, -32020,
    ]);
  });
});

describe('hostile messages', () => {
  it('are refused in the form of the protocol', async () => {
    await using w = await world({ plugins });
    const post = async (body: string) => {
      const headers = { authorization: 'Bearer test-bootstrap-key' };
      const answer = await w.app.handle(
        new Request('http://localhost:8080/mcp', { method: 'POST', headers, body }),
      );
      return [answer.status, ((await answer.json()) as { error: { code: number } }).error.code];
    };
    expect(await post('{"jsonrpc":')).toEqual([400, -32700]);
    expect(await post('['.repeat(200_000))).toEqual([400, -32700]);
    expect(await post(`[${JSON.stringify(listing)}]`)).toEqual([422, -32600]);
    expect(await post('"x"')).toEqual([422, -32600]);
    expect(await post(JSON.stringify({ ...listing, more: 1 }))).toEqual([422, -32600]);
    expect(await post(JSON.stringify({ ...listing, params: { a: 'x'.repeat(300_000) } }))).toEqual([
      413, -32600,
    ]);
    for (const change of [
      { jsonrpc: '1.0' },
      { id: {} },
      { id: 1.5 },
      { id: 'x'.repeat(300) },
      { method: 4 },
      { params: [] },
    ])
      expect(await post(JSON.stringify({ ...listing, ...change }))).toEqual([400, -32600]);
    for (const [name, input] of [
      ['nothing', {}],
      [4, {}],
      ['search', 'x'],
      ['__proto__', {}],
    ]) {
      const params = { name, arguments: input };
      expect(await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }))).toEqual([
        200, -32602,
      ]);
    }
    expect(await post(JSON.stringify({ ...listing, method: 'resources/list' }))).toEqual([200, -32601]);
  });

  it('need a key, and no other method than POST', async () => {
    await using w = await world({ plugins });
    const without = await rpc(w, listing, { key: null });
    expect([without.status, without.headers.get('www-authenticate'), without.body.error.data.code]).toEqual([
      ...[401, 'Bearer', 'auth.missing'],
    ]);
    for (const method of ['GET', 'DELETE']) {
      const { status, headers } = await w.request(method, '/mcp');
      expect([status, headers.get('allow')]).toEqual([405, 'POST']);
    }
  });

  it('do not come from pages, unless the key names their origin', async () => {
    await using w = await world({ plugins });
    const from = async (
      origin: string,
      { host = 'localhost:8080', key }: { host?: string; key?: string } = {},
    ) => {
      const headers = { authorization: `Bearer ${key ?? 'test-bootstrap-key'}`, origin, host };
      const url = `http://${host}/mcp`;
      const body = JSON.stringify(listing);
      return (await w.app.handle(new Request(url, { method: 'POST', headers, body }))).status;
    };
    expect(await from('https://evil.example')).toBe(403);
    expect(await from('null')).toBe(403);
    // The page's own name, which its owner lets point here.
    expect(await from('http://evil.example:8080', { host: 'evil.example:8080' })).toBe(403);
    expect(await from('http://localhost:8080')).toBe(200);
    expect(await from('http://192.0.2.7:8080', { host: '192.0.2.7:8080' })).toBe(200);
    const access = { cors: { allowedOrigins: ['https://tools.example'] } };
    const { key } = (await w.request('POST', '/api/api-token', { body: { name: 'P', access } })).body;
    expect(await from('https://tools.example', { key })).toBe(200);
  });
});
