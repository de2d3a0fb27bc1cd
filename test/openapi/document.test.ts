import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { describe, expect, it } from 'vitest';
import { says } from '../../core/http/http.ts';
import { json, nothing, type Operation } from '../../core/http/operation.ts';
import { definePlugin, type Plugin } from '../../core/plugin/plugin.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { misfits, type Schema } from '../kit/json-schema.ts';
import { type World, world } from '../kit/world.ts';

const plugins = await allPlugins();

const pluginWith = (app: Elysia, more: Partial<Plugin> = {}): Plugin =>
  definePlugin({ id: 'a', summary: 'a', routes: () => app, ...more });

describe('the document', () => {
  it('has every route of the program, under the plugin that it is of', async () => {
    await using w = await world({ plugins });
    const { routes } = w.app;
    const known = Object.entries(w.document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const asTemplate = (path: string) => path.replace(/:(\w+)/g, '{$1}').replace(/\*$/, '{file}');
    const missing = routes
      .filter(({ method }) => method !== 'OPTIONS')
      .map(({ method, path }) => `${method} ${asTemplate(path)}`)
      .filter((route) => !known.includes(route));
    expect(missing).toEqual([]);
    expect(operationOf(w, 'get /api/multistream/target').tags).toEqual(['multistream']);
    expect(known).toEqual(expect.arrayContaining(['HEAD /api/stream', 'OPTIONS /api/stream/{id}/record']));
    expect(w.document.servers).toEqual([{ url: 'http://localhost:8080' }]);
  });

  it('is what /openapi.json answers, to everyone', async () => {
    await using w = await world({ plugins });
    const answer = await w.request('GET', '/openapi.json', { key: null });
    expect(answer.body).toEqual(JSON.parse(JSON.stringify(w.document)));
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
  });

  it('knows nothing of a plugin that is off, neither its routes nor its fields nor its errors', async () => {
    await using w = await world({ plugins: plugins.filter(({ id }) => id !== 'multistream') });
    // A webhook may name events that nothing emits.
    const text = JSON.stringify(w.document).replaceAll(/"multistream\.[a-z]+"/g, '');
    expect(text).toContain('/api/stream');
    expect(text).not.toContain('ultistream');
    expect(text).not.toContain('target.busy');
  });

  it('has in the stream object, and in its body, the fields that other plugins add', async () => {
    await using w = await world({ plugins });
    const { Stream } = w.document.components.schemas as Record<string, { required: string[] }>;
    expect(Stream.required).toEqual(expect.arrayContaining(['record', 'profiles', 'multistream']));
    const { properties } = bodyOf(operationOf(w, 'post /api/stream'));
    expect(Object.keys(properties)).toEqual(expect.arrayContaining(['record', 'profiles', 'multistream']));
    // A target is given by its id or made by a spec, and shown by its id alone.
    expect(JSON.stringify(properties)).toContain('spec');
    expect(JSON.stringify(Stream)).not.toContain('spec');
  });

  it('asks for a key where one is needed', async () => {
    await using w = await world({ plugins });
    for (const [path, methods] of Object.entries(w.document.paths)) {
      for (const [method, one] of Object.entries(methods)) {
        if (method === 'options' || path.includes('{file}')) continue;
        const { security } = one as { security: unknown[] };
        const url = path.replace(/\{\w+\}/g, 'x');
        const { status } = await w.app.handle(
          new Request(`http://localhost:8080${url}`, { method: method.toUpperCase() }),
        );
        expect([method, path, status === 401]).toEqual([method, path, security.length > 0]);
      }
    }
  });

  it('has examples that fit their schemas, of bodies, answers and errors', async () => {
    await using w = await world({ plugins });
    let count = 0;
    const check = (value: unknown, schema: Schema, where: string) => {
      count += 1;
      expect([where, misfits(value, schema, w.document)]).toEqual([where, []]);
    };
    const visit = (node: unknown, where: string) => {
      if (node === null || typeof node !== 'object') return;
      const { schema, example, examples, ...rest } = node as Record<string, unknown>;
      if (schema && example !== undefined) check(example, schema as Schema, where);
      if (schema && examples) {
        for (const [name, { value }] of Object.entries(examples as Record<string, { value: unknown }>)) {
          check(value, schema as Schema, `${where}/${name}`);
        }
      }
      for (const [name, one] of Object.entries(rest)) visit(one, `${where}/${name}`);
    };
    visit(w.document, '');
    for (const methods of Object.values(w.document.paths)) {
      for (const { parameters = [], operationId } of Object.values(methods) as unknown as ParametersOf[]) {
        for (const { name, schema, content } of parameters) {
          const one = (schema ?? content?.['application/json'].schema) as Schema & { examples?: unknown[] };
          for (const example of one.examples ?? []) check(example, one, `${operationId} ${name}`);
        }
      }
    }
    expect(count).toBeGreaterThan(100);
  });

  it('closes every object, so that a field which it does not name is seen', async () => {
    await using w = await world({ plugins });
    const open: string[] = [];
    const visit = (node: unknown, where: string) => {
      if (node === null || typeof node !== 'object') return;
      const {
        type,
        additionalProperties,
        example: _,
        examples: __,
        ...rest
      } = node as Record<string, unknown>;
      if (type === 'object' && additionalProperties !== false) open.push(where);
      for (const [name, one] of Object.entries(rest)) visit(one, `${where}/${name}`);
    };
    visit([w.document.paths, w.document.components], '');
    expect(open).toEqual([expect.stringContaining('/openapi.json/get/responses/200')]);
  });

  it('accepts as a request what it shows as the example of one', async () => {
    await using w = await world({ plugins });
    for (const route of ['post /api/stream', 'post /api/multistream/target', 'post /api/account']) {
      const [method, path] = route.split(' ') as [string, string];
      const { example } = contentOf(operationOf(w, route));
      const answer = await w.request(method.toUpperCase(), path, { body: example });
      expect([route, answer.status, answer.body.errors]).toEqual([route, 201, undefined]);
    }
  });
});

describe('a program does not start', () => {
  const start = async (app: Elysia, more: Partial<Plugin> = {}) => {
    await using _ = await world({ plugins: [pluginWith(app, more)] });
  };
  const operation: Operation = { name: 'one', isOpen: true, answers: { 204: nothing } };
  const gone = () => new Response(null, { status: 204 });

  it('with a route of which nothing is said', async () => {
    await expect(start(new Elysia().get('/x/:id', gone) as never)).rejects.toThrow(
      'plugin a: GET /x/:id: it has no description; give the route says(…)',
    );
  });

  it('with an error that is in no table, or two routes of one name', async () => {
    const app = new Elysia()
      .get('/x', gone, says('X.', { ...operation, faults: ['x.none'] }))
      .get('/y', gone, says('Y.', operation));
    await expect(start(app as never)).rejects.toThrow(
      /GET \/x: its fault x\.none is in no table.*GET \/y: its name one is that of GET \/x too/,
    );
  });
});

/** The check itself: each of these answers is something that the document does not say. */
describe('an answer that is not as documented fails its request', () => {
  const done = Type.Object({ is: Type.String() }, { additionalProperties: false });
  const cases: [what: string, answer: () => Response, problem: string][] = [
    ['another status', () => Response.json({ is: 'x' }, { status: 202 }), 'this status is not documented'],
    ['a field more', () => Response.json({ is: 'x', more: 1 }), '.more: is not in the schema'],
    ['a field less', () => Response.json({}), '.is: is missing'],
    ['a field of another type', () => Response.json({ is: 1 }), '.is: 1 is no string'],
    [
      'another media type',
      () => new Response('x', { headers: { 'content-type': 'text/plain' } }),
      'the media type "text/plain" is not documented',
    ],
    [
      'an error that is not listed',
      () => Response.json({ errors: ['x'], code: 'body.invalid' }, { status: 500 }),
      '.code: "body.invalid" is none of ["internal"]',
    ],
  ];
  it.each(cases)('%s', async (_, answer, problem) => {
    const app = new Elysia().get(
      '/x',
      answer,
      says('X.', { name: 'x', isOpen: true, answers: { 200: json(done) } }),
    );
    await using w = await world({ plugins: [pluginWith(app as never)] });
    await expect(w.request('GET', '/x')).rejects.toThrow(problem);
  });

  it('and one that is passes', async () => {
    const app = new Elysia().get(
      '/x',
      () => Response.json({ is: 'x' }),
      says('X.', { name: 'x', isOpen: true, answers: { 200: json(done) } }),
    );
    await using w = await world({ plugins: [pluginWith(app as never)] });
    expect((await w.request('GET', '/x')).body).toEqual({ is: 'x' });
  });
});

describe('a path with another method', () => {
  it('is 405 and lists those it has', async () => {
    await using w = await world({ plugins });
    for (const [method, path, allow] of [
      ['PUT', '/api/stream', 'GET, HEAD, OPTIONS, POST'],
      ['POST', '/api/stream/x', 'DELETE, GET, HEAD, OPTIONS, PATCH'],
      ['GET', '/api/stream/x/record', 'OPTIONS, PATCH'],
      ['POST', '/hls/x/index.m3u8', 'GET, HEAD, OPTIONS'],
      ['DELETE', '/health/live', 'GET, HEAD'],
    ] as const) {
      const answer = await w.request(method, path);
      expect([path, answer.status, answer.body.code, answer.headers.get('allow')]).toEqual([
        path,
        405,
        'route.method_not_allowed',
        allow,
      ]);
    }
  });

  it('is 404 where nothing is, also below a path that answers every OPTIONS', async () => {
    await using w = await world({ plugins });
    for (const path of ['/api/nothing', '/nothing', '/api/stream/x/y', '/healthXlive', '/api/stream/']) {
      const answer = await w.request('GET', path);
      expect([path, answer.status, answer.body.code]).toEqual([path, 404, 'route.not_found']);
    }
  });
});

describe('found by fuzzing', () => {
  it('a first= that is neither true nor false is 422', async () => {
    await using w = await world({ plugins });
    expect((await w.request('GET', '/api/ingest?first=x')).body.errors).toEqual(['first: expected 1 or 0']);
    expect((await w.request('GET', '/api/ingest?first=false')).body[0].base).toBe('http://localhost:8080');
  });

  it('a blocking reload with what is no number is 400 for every file', async () => {
    await using w = await world({ plugins });
    for (const path of ['index.m3u8?_HLS_part=null', 'x.mp4?_HLS_msn=-1', 'source.m3u8?_HLS_msn=']) {
      const answer = await w.request('GET', `/hls/6pukxh2m0ydr9h3q/${path}`, { key: null });
      expect([answer.status, answer.body.code]).toEqual([400, 'playback.not_soon']);
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    }
  });

  it('a dvr= that is neither true nor false is 422, and shown to browsers', async () => {
    await using w = await world({ plugins });
    const ask = (query: string) =>
      w.request('GET', `/hls/6pukxh2m0ydr9h3q/index.m3u8?${query}`, { key: null });
    const answer = await ask('dvr=yes');
    expect([answer.status, answer.body.errors]).toEqual([422, ['dvr: expected 1 or 0']]);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect((await ask('dvr=true')).body.code).toBe('playback.not_live');
  });

  it('a target URL without a host that can be looked up does not fit the schema', async () => {
    await using w = await world({ plugins });
    const bad = [
      'srt://é\\ü',
      'rtmp://',
      'rtmp:///app',
      'rtmp://a b/c',
      'rtmp://user@/x',
      'srt://a:x',
      'http://a',
    ];
    for (const url of bad) {
      const answer = await w.request('POST', '/api/multistream/target', { body: { url } });
      expect([url, answer.status, answer.body.code]).toEqual([url, 422, 'body.invalid']);
    }
    const good = ['rtmp://a.example/live/key', 'RTMPS://a.example:443/x?y=z', 'srt://[2001:db8::1]:9000'];
    for (const url of good) {
      expect([url, (await w.request('POST', '/api/multistream/target', { body: { url } })).status]).toEqual([
        url,
        201,
      ]);
    }
    // What a pattern cannot tell.
    for (const url of ['rtmp://[1::2::3]/x', 'rtmps://u:p@a.example:443/x?y=z', 'srt://a']) {
      const answer = await w.request('POST', '/api/multistream/target', { body: { url } });
      expect([url, answer.status, answer.body.code]).toEqual([url, 400, 'multistream.invalid']);
    }
  });
});

interface Described {
  readonly tags: string[];
  readonly requestBody: { readonly content: Record<string, { schema: Schema; example: unknown }> };
}

interface ParametersOf {
  readonly operationId: string;
  readonly parameters?: { name: string; schema?: Schema; content?: Record<string, { schema: Schema }> }[];
}

function operationOf(w: World, route: string): Described {
  const [method, path] = route.split(' ') as [string, string];
  return w.document.paths[path][method] as unknown as Described;
}

function contentOf({ requestBody }: Described) {
  return requestBody.content['application/json'];
}

function bodyOf(operation: Described): { properties: Record<string, unknown> } {
  return contentOf(operation).schema as never;
}
