import { expect, it } from 'vitest';
import { type Access, allows } from '../../../core/http/access.ts';
import { allPlugins } from '../../kit/all-plugins.ts';
import { world } from '../../kit/world.ts';

const lib = '../../../plugins/dashboard/page/lib';
const { metricsOf, quantileOf, sumOf } = await import(`${lib}/metrics.js`);
const { choicesOf, methods, resourcesOf, rulesOf } = await import(`${lib}/scopes.js`);

interface Resource {
  readonly name: string;
  readonly paths: readonly { readonly path: string; readonly methods: readonly string[] }[];
}

it('makes rules of a choice that allow what was chosen, and nothing else', async () => {
  await using w = await world({ plugins: await allPlugins() });
  const { body } = await w.request('GET', '/openapi.json', { key: null });
  const resources = resourcesOf(body) as Resource[];
  const all: string[] = resources.flatMap((resource) =>
    methods.flatMap((method: string) => choicesOf(resource, method)),
  );
  expect(all).toEqual(
    expect.arrayContaining(['get stream', 'post asset/:id/export', 'delete webhook/:id', 'get task']),
  );
  const choices = [
    ['get asset', 'get asset/:id'],
    ['post stream'],
    all.filter((choice) => choice.startsWith('get ')),
    all.filter((choice) => choice.includes(' task') || choice === 'put webhook/:id'),
    all,
    [],
  ];
  for (const chosen of choices) {
    const access = { rules: rulesOf(new Set(chosen), resources) } as Access;
    const allowed = all.filter((choice) => {
      const [method = '', path = ''] = choice.split(' ');
      return allows(access, { method, path: path.replaceAll(/:\w+/g, 'some-id') });
    });
    expect(allowed.toSorted()).toEqual(chosen.toSorted());
    // The server takes no more.
    expect(access.rules?.length).toBeLessThanOrEqual(20);
    const made = await w.request('POST', '/api/api-token', { body: { name: 'a key', access } });
    expect(made.status).toBe(201);
  }
});

it('says a whole resource in two words', () => {
  const paths = [
    { path: 'asset', methods: ['get'] },
    { path: 'asset/:id', methods: ['get', 'delete'] },
  ];
  const chosen = new Set(['get asset', 'get asset/:id']);
  expect(rulesOf(chosen, [{ name: 'asset', paths }])).toEqual([
    { methods: ['get'], resources: ['asset', 'asset/*'] },
  ]);
});

it('reads metrics', () => {
  const samples = metricsOf(
    [
      '# HELP a_total things',
      'a_total{kind="x",of="say \\"y\\", {z}"} 2',
      'a_total{kind="w"} 3',
      'b_seconds_bucket{le="0.1"} 90',
      'b_seconds_bucket{le="1"} 99',
      'b_seconds_bucket{le="+Inf"} 100',
      'c 1.5e9',
      '',
    ].join('\n'),
  );
  expect(sumOf(samples, 'a_total')).toBe(5);
  expect(sumOf(samples, 'a_total', { kind: 'w' })).toBe(3);
  expect(sumOf(samples, 'c')).toBe(1_500_000_000);
  expect(sumOf(samples, 'none')).toBeUndefined();
  expect(quantileOf(samples, 'b_seconds', 0.5)).toBe(0.1);
  expect(quantileOf(samples, 'b_seconds', 0.99)).toBe(1);
  expect(quantileOf(samples, 'b_seconds', 0.999)).toBe(Infinity);
  expect(quantileOf(samples, 'none', 0.5)).toBeUndefined();
});
