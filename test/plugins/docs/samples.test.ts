import { describe, expect, it } from 'vitest';
import { operations } from '../../../sdk/client/api.ts';
import { allPlugins } from '../../kit/all-plugins.ts';
import { world } from '../../kit/world.ts';

const samplesOfPage = '../../../plugins/docs/page/samples.js';
const { samplesOf } = (await import(samplesOfPage)) as {
  samplesOf(operation: Operation, at: object): { label: string; source: string }[];
};

interface Operation {
  readonly operationId: string;
  readonly requestBody?: { readonly content: Record<string, { readonly example?: unknown }> };
  readonly responses: Record<string, unknown>;
}

const server = 'https://video.example.com';
const calls = new Set(Object.keys(operations));

function made(operation: Operation, { method, path }: { method: string; path: string }) {
  const samples = samplesOf(operation, { method, path, server, calls });
  return Object.fromEntries(samples.map(({ label, source }) => [label, source]));
}

/** Every call of the document, and its examples. */
async function all() {
  await using w = await world({ plugins: await allPlugins() });
  return Object.entries(w.document.paths).flatMap(([path, methods]) =>
    Object.entries(methods as unknown as Record<string, Operation>)
      .filter(([method]) => method !== 'head' && method !== 'options')
      .map(([method, operation]) => ({
        method,
        path,
        operation,
        samples: made(operation, { method, path }),
      })),
  );
}

const everything = await all();
const body = { name: 'Friday\'s "show"', tags: ['a', '`b`'], isOn: true, none: null, at: { x: 1.5, y: {} } };
const odd: Operation = {
  operationId: 'createOdd',
  requestBody: { content: { 'application/json': { example: body } } },
  responses: { 201: { content: { 'application/json': {} } } },
  ...{ security: [{ key: [] }] },
};

describe('examples', () => {
  it('are there in four languages for every call', () => {
    expect(everything.length).toBeGreaterThan(60);
    for (const { samples } of everything) {
      expect(Object.keys(samples)).toEqual(['curl', 'TypeScript', 'Python', 'Go']);
      for (const source of Object.values(samples)) {
        expect(source).toContain(server);
        expect(source).not.toMatch(/undefined|\[object|NaN|\{\w+\}'/);
      }
    }
  });

  it('are TypeScript, and name calls that the client has', () => {
    for (const { operation, samples } of everything) {
      const { TypeScript: source } = samples;
      expect(() => new Bun.Transpiler({ loader: 'ts' }).transformSync(source), source).not.toThrow();
      const isCall = calls.has(operation.operationId);
      expect([operation.operationId, source.includes(`client.${operation.operationId}(`)]).toEqual([
        operation.operationId,
        isCall,
      ]);
    }
  });

  it('send the body of the document in every language', () => {
    const sent = everything.filter(({ operation }) => operation.requestBody?.content['application/json']);
    expect(sent.length).toBeGreaterThan(10);
    for (const { operation, samples } of sent) {
      const { example } = operation.requestBody?.content['application/json'] ?? {};
      expect(bodyOfGo(samples.Go)).toEqual(example);
      expect(JSON.parse(/-d '(.*)'$/s.exec(samples.curl)?.[1] ?? '')).toEqual(example);
    }
  });

  it('quote what the languages would read otherwise', () => {
    const samples = made(odd, { method: 'post', path: '/acme/odd' });
    const quoted = /-d '(.*)'$/s.exec(samples.curl)?.[1] ?? '';
    expect(JSON.parse(quoted.replaceAll("'\\''", "'"))).toEqual(body);
    expect(bodyOfGo(samples.Go)).toEqual(body);
    // A call that the client does not know is a request by its path.
    const literal = /client\.request\((.*)\);\n/s.exec(samples.TypeScript)?.[1] ?? '';
    expect(new Function(`return ${literal}`)()).toEqual({ method: 'POST', path: '/acme/odd', body });
    expect(samples.Python).toContain('"isOn": True');
    expect(samples.Python).toContain('"none": None');
  });

  it('use every package that Go imports, and import every one that they use', () => {
    for (const { samples } of everything) {
      const [, list = ''] = /import \(\n(.*?)\)/s.exec(samples.Go) ?? [];
      const imported = [...list.matchAll(/"(?:\w+\/)?(\w+)"/g)].map(([, name]) => name);
      const code = samples.Go.slice(samples.Go.indexOf('func main')).replace(/`[^`]*`|"(\\.|[^"\\])*"/g, '');
      const used = [...code.matchAll(/\b(fmt|io|log|http|os|strings)\./g)].map(([, name]) => name);
      expect(imported.toSorted()).toEqual([...new Set(used)].toSorted());
      // `go vet` refuses a name that is declared and not used.
      for (const [, name = ''] of code.matchAll(/\t(\w+)(?:, err)? := /g)) {
        expect(code.split(new RegExp(`\\b${name}\\b`)).length, name).toBeGreaterThan(2);
      }
      expect([...code].filter((sign) => sign === '{').length).toBe(
        [...code].filter((sign) => sign === '}').length,
      );
    }
  });
});

function bodyOfGo(source: string | undefined): unknown {
  const [, raw, quoted] = /strings\.NewReader\((?:`([^`]*)`|("(?:\\.|[^"\\])*"))\)/.exec(source ?? '') ?? [];
  return JSON.parse(raw ?? JSON.parse(quoted ?? '""'));
}

const documentOfPage = '../../../plugins/docs/page/document.js';
const { shownDocument } = (await import(documentOfPage)) as {
  shownDocument(openApi: object, calls: ReadonlySet<string>): Shown;
};

interface Shown {
  readonly paths: Record<
    string,
    Record<string, { summary: string; description: string; parameters: Parameter[] }>
  >;
  readonly tags: { readonly name: string }[];
}

interface Parameter {
  readonly name: string;
  readonly examples?: { readonly example: { readonly value: unknown; readonly 'x-disabled': true } };
}

it('shows calls with their own errors, without files of pages, and leaves optional parameters out of a trial', async () => {
  await using w = await world({ plugins: await allPlugins() });
  const { paths, tags } = shownDocument(w.document, calls);
  expect(Object.keys(paths['/api/stream'] ?? {})).toEqual(['get', 'post']);
  expect(paths['/api/stream']?.post).toMatchObject({ summary: 'Creates a stream' });
  expect(paths['/api/stream']?.post?.description).toContain('`renditions.invalid`');
  expect(paths['/api/stream']?.post?.description).not.toContain('store.busy');
  expect(paths).not.toHaveProperty('/docs/app/{file}');
  expect(paths).not.toHaveProperty('/watch/{playbackId}');
  expect(paths).toHaveProperty('/oembed');
  expect(tags.at(-1)?.name).toBe('core');
  const [limit, ...others] = paths['/api/stream']?.get?.parameters ?? [];
  expect(limit).toMatchObject({ name: 'limit', examples: { example: { value: 20, 'x-disabled': true } } });
  const filters = others.find(({ name }) => name === 'filters');
  expect(filters?.examples?.example.value).toBe('[{"id":"id","value":"a"}]');
});
