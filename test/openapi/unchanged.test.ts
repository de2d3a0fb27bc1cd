import { expect, test } from 'vitest';
import { allPlugins } from '../kit/all-plugins.ts';
import { world } from '../kit/world.ts';
import { documentChanges, firstDocument } from './changes.ts';

/** What the page at `/docs` loaded: scripts and a style that nobody else had a use for. */
const ownFiles = /^\/paths\/~1docs~1(docs\.css|docs\.js|schema\.js|try\.js)$/;

test('what a client of 0.1.0 relies on is there unchanged: routes, fields, codes', async () => {
  await using w = await world({ plugins: await allPlugins() });
  const changes = documentChanges(firstDocument(), w.document).filter(({ at }) => !ownFiles.test(at));
  expect(changes.filter(({ kind }) => kind !== 'added')).toEqual([]);
});

test('a route that is gone, a field of another type and a field that is required now are seen', () => {
  const path = '/paths/~1api~1stream';
  const before = {
    paths: { '/api/stream': { get: { summary: 'a' }, post: {} } },
    fields: { properties: { description: { type: 'string' } }, required: ['name'] },
  };
  const now = {
    paths: { '/api/stream': { get: { summary: 'b' } } },
    fields: { properties: { description: { type: 'number' } }, required: ['name', 'url'] },
  };
  expect(documentChanges(before, now)).toEqual([
    { kind: 'removed', at: `${path}/post` },
    { kind: 'changed', at: '/fields/properties/description/type' },
    { kind: 'added', at: '/fields/required/url' },
  ]);
  expect(documentChanges(before, before)).toEqual([]);
});

test('a code that a route no longer has is seen, whatever its response is called', () => {
  const document = (name: string, codes: string[]) => ({
    paths: { '/api/stream': { get: { responses: { 403: { $ref: `#/components/responses/${name}` } } } } },
    components: { responses: { [name]: { enum: codes } } },
  });
  const before = document('403-a-b', ['a', 'b']);
  const at = '/paths/~1api~1stream/get/responses/403/enum';
  expect(documentChanges(before, document('403-a-b-c', ['a', 'b', 'c']))).toEqual([
    { kind: 'added', at: `${at}/c` },
  ]);
  expect(documentChanges(before, document('403-a', ['a']))).toEqual([{ kind: 'removed', at: `${at}/b` }]);
});

test('parameters are compared by their name, not by their place', () => {
  const one = (name: string, type: string) => ({ name, in: 'query', schema: { type } });
  const before = { parameters: [one('time', 'number'), one('name', 'string')] };
  expect(documentChanges(before, { parameters: [...before.parameters].reverse() })).toEqual([]);
  const now = { parameters: [one('width', 'number'), one('time', 'string')] };
  expect(documentChanges(before, now)).toEqual([
    { kind: 'changed', at: '/parameters/query time/schema/type' },
    { kind: 'removed', at: '/parameters/query name' },
    { kind: 'added', at: '/parameters/query width' },
  ]);
});

test('alternatives are compared by their id, not by their place', () => {
  const one = (id: string, type: string) => ({ properties: { id: { const: id }, value: { type } } });
  const before = { anyOf: [one('name', 'string'), one('record', 'boolean')] };
  expect(documentChanges(before, { anyOf: [...before.anyOf].reverse() })).toEqual([]);
  expect(documentChanges(before, { anyOf: [one('new', 'string'), one('name', 'number')] })).toEqual([
    { kind: 'changed', at: '/anyOf/name/properties/value/type' },
    { kind: 'removed', at: '/anyOf/record' },
    { kind: 'added', at: '/anyOf/new' },
  ]);
});
