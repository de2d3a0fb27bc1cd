import { expect, it } from 'vitest';
import { type Derivation, derivationSet, resource } from '../../core/plugin/resource.ts';

const thing = resource('thing');
const caller = { baseUrl: 'http://localhost', address: undefined };
const set = (...all: Derivation['of'][]) =>
  derivationSet(all.map((of) => ({ derivation: { resource: thing, schemas: {}, of }, kit: undefined })));

it('adds the values and issues of each derivation, whether they come now or later', async () => {
  const derived = set(
    () => ({ values: { now: 1 }, issues: ['first'] }),
    async () => ({ values: { later: 2 }, issues: ['second'] }),
    () => undefined,
  );
  const shown = { id: 't', issues: ['own'] };
  expect(await derived.complete(shown, caller)).toEqual({
    ...{ id: 't', now: 1, later: 2 },
    issues: ['own', 'first', 'second'],
  });
});

it('leaves an object alone of which there is nothing to say', async () => {
  expect(await set(() => undefined).complete({ id: 't' }, caller)).toEqual({ id: 't' });
});
