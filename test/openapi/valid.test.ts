import { expect, test } from 'vitest';
import { allPlugins } from '../kit/all-plugins.ts';
import { world } from '../kit/world.ts';
import { documentProblems } from './valid.ts';

test('the document of the whole program is valid', async () => {
  await using w = await world({ plugins: await allPlugins() });
  expect(await documentProblems(w.document)).toEqual([]);
});

// biome-ignore lint/suspicious/noExplicitAny: a document that is about to be damaged
type Loose = any;

/** The check itself: each of these is wrong. */
test.each([
  [
    'a parameter without a schema',
    (d: Loose) => delete d.paths['/x/{id}'].get.parameters[0].schema,
    'OpenAPI 3.1',
  ],
  [
    'an answer without a description',
    (d: Loose) => delete d.paths['/x/{id}'].get.responses['200'].description,
    'OpenAPI 3.1',
  ],
  ['a reference to nothing', (d: Loose) => delete d.components.schemas.X, 'OpenAPI 3.1'],
  ['a schema of no type', (d: Loose) => (d.components.schemas.X.type = 'strin'), '/components/schemas/X: '],
  [
    'a bound that is no number',
    (d: Loose) => (d.components.schemas.X.minLength = 'x'),
    '/components/schemas/X: ',
  ],
  [
    'a path parameter that is not declared',
    (d: Loose) => (d.paths['/x/{id}'].get.parameters = []),
    'its path parameters are ',
  ],
  ['a tag that is not declared', (d: Loose) => (d.tags = []), 'the tag x is not declared'],
  ['a schema that nothing uses', (d: Loose) => (d.components.schemas.Y = {}), 'schemas/Y is used by nothing'],
])('%s is found', async (_, damage, problem) => {
  const document = {
    openapi: '3.1.0',
    info: { title: 'x', version: '1' },
    tags: [{ name: 'x' }],
    paths: {
      '/x/{id}': {
        get: {
          ...{ operationId: 'x', tags: ['x'] },
          parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
          responses: {
            200: {
              description: 'X.',
              content: { 'application/json': { schema: { $ref: '#/components/schemas/X' } } },
            },
          },
        },
      },
    },
    components: { schemas: { X: { type: 'string' } }, responses: {} },
  };
  expect(await documentProblems(document)).toEqual([]);
  damage(document);
  expect((await documentProblems(document)).join('\n')).toContain(problem);
});
