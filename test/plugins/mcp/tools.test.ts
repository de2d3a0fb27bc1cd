import { describe, expect, it } from 'vitest';
import type { Client } from '../../../sdk/client/index.ts';
import { definePlugin, offer, type Plugin, type Tool, Type, tools } from '../../../sdk/plugin.ts';
import { allPlugins } from '../../kit/all-plugins.ts';
import { world } from '../../kit/world.ts';
import { called, rpc, tool } from './kit.ts';

const plugins = await allPlugins();
const keyWith = async (w: Awaited<ReturnType<typeof world>>, access: unknown) =>
  (await w.request('POST', '/api/api-token', { body: { name: 'K', access } })).body.key as string;

describe('search and describe', () => {
  it('find an operation by what it is to do, and show how it is called', async () => {
    await using w = await world({ plugins });
    for (const [words, first] of [
      ['create a stream', 'createStream'],
      ['list webhooks', 'listWebhooks'],
      ['delete asset', 'deleteAsset'],
      ['upload a video', 'requestUpload'],
      ['stream health', 'getStreamHealth'],
    ] as const) {
      const { text, isError } = await tool(w, 'search', { input: { words } });
      expect([isError, text.split('\n').slice(0, 3).join('\n')]).toEqual([
        false,
        expect.stringContaining(first),
      ]);
    }
    const { text } = await tool(w, 'describe', { input: { operation: 'createStream' } });
    expect(text).toContain('createStream: POST /api/stream');
    expect(text).toMatch(/name: string \(at most 500 characters\)/);
    expect(text).toContain('Answers:\n  201');
    expect(text.length).toBeLessThan(16_001);
    const wrong = await tool(w, 'describe', { input: { operation: 'createStreams' } });
    expect(wrong).toEqual({ isError: true, text: expect.stringContaining('createStream') });
  });

  it('describe every operation within its bound', async () => {
    await using w = await world({ plugins });
    const names = Object.values(w.document.paths).flatMap((methods) =>
      Object.entries(methods).flatMap(([method, one]) =>
        ['head', 'options'].includes(method) ? [] : [String(one.operationId)],
      ),
    );
    expect(names.length).toBeGreaterThan(80);
    for (const operation of names) {
      if (operation === 'postMcpMessage') continue;
      const { text, isError } = await tool(w, 'describe', { input: { operation } });
      expect([operation, isError, text.length <= 16_000]).toEqual([operation, false, true]);
    }
  });
});

describe('call', () => {
  it('runs operations with parameters of path and query, and bodies', async () => {
    await using w = await world({ plugins });
    const stream = await called(w, 'createStream', { input: { body: { name: 'Friday' } } });
    expect(stream).toMatchObject({ name: 'Friday', streamKey: expect.any(String) });
    expect(await called(w, 'getStream', { input: { parameters: { id: stream.id } } })).toMatchObject({
      id: stream.id,
    });
    await w.given.stream({ name: 'Other' });
    const { text } = await tool(w, 'call', { input: { operation: 'listStreams', parameters: { limit: 1 } } });
    expect(text).toMatch(/^Status 200\. .*Next page, parameters: {"limit":"1","cursor":"/);
    const refused = await tool(w, 'call', { input: { operation: 'createStream', body: { nmae: 'x' } } });
    expect(refused).toEqual({
      isError: true,
      text: expect.stringMatching(/^Status 422\.[\s\S]*body\.invalid/),
    });
    const repeated = {
      operation: 'createStream',
      parameters: { 'Idempotency-Key': 'a' },
      body: { name: 'Once' },
    };
    const ids = [
      await called(w, 'createStream', { input: repeated }),
      await called(w, 'createStream', { input: repeated }),
    ];
    expect(ids[0].id).toBe(ids[1].id);
  });

  it('says what is wrong with parameters, and asks nothing', async () => {
    await using w = await world({ plugins });
    for (const [input, problem] of [
      [{ operation: 'getStream' }, 'needs the parameter id'],
      [{ operation: 'getStream', parameters: { id: 'a', streamId: 'b' } }, 'has no parameter "streamId"'],
      [{ operation: 'getStream', parameters: { id: '..' } }, 'expected an id'],
      [{ operation: 'getStream', parameters: { id: 'x'.repeat(5000) } }, 'at most 4096'],
      [{ operation: 'getStream', parameters: { id: 'a' }, body: {} }, 'takes no body'],
      [{ operation: 'postMcpMessage', body: {} }, 'no such operation'],
      [{ operation: 'nothingLikeIt' }, 'no such operation'],
      [{ operation: 4 }, 'operation: '],
      [{ parameters: {} }, 'operation: '],
    ] as const)
      expect(await tool(w, 'call', { input })).toEqual({
        isError: true,
        text: expect.stringContaining(problem),
      });
    // An id is one segment, whatever is in it.
    const { text } = await tool(w, 'call', {
      input: { operation: 'getStream', parameters: { id: '../asset?x=1#y' } },
    });
    expect(text).toMatch(/^Status 404\.[\s\S]*stream\.not_found/);
  });

  it('refuses media, event streams and files', async () => {
    await using w = await world({ plugins });
    const names = Object.entries(w.document.paths).flatMap(([path, methods]) =>
      /^\/(hls|embed|recordings|watch|dashboard|asset\/)/.test(path) && path !== '/dashboard/extensions.json'
        ? Object.entries(methods).flatMap(([method, one]) =>
            method === 'get' ? [String(one.operationId)] : [],
          )
        : [],
    );
    expect(names.length).toBeGreaterThan(10);
    for (const operation of [...names, 'upload']) {
      const { isError, text } = await tool(w, 'call', { input: { operation, parameters: {} } });
      expect([operation, isError, text]).toEqual([
        operation,
        true,
        expect.stringContaining('cannot be run by this tool'),
      ]);
    }
  });

  it('can do what the key can do, and no more', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const key = await keyWith(w, { rules: [{ resources: ['stream', 'stream/:id'], methods: ['get'] }] });
    const input = { operation: 'getStream', parameters: { id: stream.id } };
    const shown = await tool(w, 'call', { key, input });
    // Whoever may not change a stream does not see its key.
    expect([shown.isError, shown.text.includes(stream.streamKey)]).toEqual([false, false]);
    const refused = await tool(w, 'call', { key, input: { operation: 'createStream', body: { name: 'N' } } });
    expect(refused).toEqual({
      isError: true,
      text: expect.stringMatching(/^Status 403\.[\s\S]*auth\.not_allowed/),
    });
    expect((await w.request('GET', '/api/stream')).body).toHaveLength(1);
  });

  it('deletes only where a rule of the key names the method', async () => {
    await using w = await world({ plugins });
    const stream = await w.given.stream();
    const input = { operation: 'deleteStream', parameters: { id: stream.id } };
    const anyMethod = await keyWith(w, { rules: [{ resources: ['*'] }] });
    const elsewhere = await keyWith(w, {
      rules: [
        { resources: ['*'], methods: ['get'] },
        { resources: ['asset/:id'], methods: ['delete'] },
      ],
    });
    for (const key of [undefined, anyMethod, elsewhere]) {
      const refused = await tool(w, 'call', { ...(key && { key }), input });
      expect(refused).toEqual({ isError: true, text: expect.stringContaining('names the method delete') });
    }
    expect((await w.request('GET', `/api/stream/${stream.id}`)).status).toBe(200);
    const deleting = await keyWith(w, { rules: [{ resources: ['stream/:id'], methods: ['get', 'delete'] }] });
    expect(await tool(w, 'call', { key: deleting, input })).toMatchObject({ isError: false });
    expect((await w.request('GET', `/api/stream/${stream.id}`)).status).toBe(404);
    const { body } = await w.request('GET', '/api/audit');
    expect(JSON.stringify(body)).toContain(stream.id);
  });

  it('shows of a long list as many entries as fit', async () => {
    await using w = await world({ plugins });
    const text = 'x'.repeat(400);
    const userTags = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`tag${index}`, text]));
    for (let made = 0; made < 8; made += 1) await w.given.stream({ userTags });
    const { text: shown } = await tool(w, 'call', { input: { operation: 'listStreams' } });
    expect(shown.length).toBeLessThan(49_000);
    expect(shown).toMatch(/\(The first [3-7] of 8 entries of this page\./);
  });
});

describe('tools of other plugins', () => {
  const names: Tool<Client> = {
    name: 'stream_names',
    description: 'The names of all streams.',
    input: Type.Object({ prefix: Type.String() }, { additionalProperties: false }),
    async run({ client, input }) {
      const found = await client.listStreams();
      return found.map(({ name }) => `${input.prefix}${name}`);
    },
  };
  const twin: Tool<Client> = { ...names, name: 'search', run: async () => 'not mine' };
  const face = definePlugin({
    id: 'acme-names',
    summary: 'names',
    contract: 3,
    offers: [offer(tools, () => names as never), offer(tools, () => twin as never)],
  }) as unknown as Plugin;

  it('run with a client that has the key of the user', async () => {
    await using w = await world({ plugins: [...plugins, face] });
    await w.given.stream({ name: 'Friday' });
    const list = await rpc(w, { jsonrpc: '2.0', id: 1, method: 'tools/list' });
    const shown = list.body.result.tools.map(({ name }: { name: string }) => name);
    expect(shown).toEqual(['search', 'describe', 'call', 'diagnose', 'stream_names']);
    const input = { prefix: '> ' };
    expect(await tool(w, 'stream_names', { input })).toEqual({ text: '["> Friday"]', isError: false });
    expect(await tool(w, 'stream_names')).toMatchObject({
      isError: true,
      text: expect.stringContaining('prefix'),
    });
    const key = await keyWith(w, { rules: [{ resources: ['asset'], methods: ['get'] }] });
    expect(await tool(w, 'stream_names', { input, key })).toMatchObject({
      ...{ isError: true, text: expect.stringContaining('may not do that') },
    });
  });
});
