import { describe, expect, it } from 'vitest';
import { type Derivation, derivationSet, resource } from '../../core/resource.ts';

const thing = resource('thing');
const shown = { id: 't', record: true, isActive: false };

/** A set of derivations with these preconditions, and which of them were asked, by their place. */
function told(...preconditions: (Derivation['only'] | undefined)[]) {
  const asked: number[] = [];
  const set = derivationSet(
    preconditions.map((only, place) => ({
      derivation: {
        ...{ resource: thing, schemas: {}, ...(only && { only }) },
        of() {
          asked.push(place);
          return { values: { [`told${place}`]: true } };
        },
      },
      kit: undefined,
    })),
  );
  return { set, asked };
}

describe('a derivation', () => {
  it('is asked for an object that is shown with all values which it names, and for no other', () => {
    const { set, asked } = told(
      ...[{ record: true }, { record: false }, { record: true, isActive: true }, undefined, {}],
      ...[{ record: true, isActive: false }, { another: true }],
    );
    expect(set.complete({ ...shown })).toEqual({
      ...shown,
      told0: true,
      told3: true,
      told4: true,
      told5: true,
    });
    expect(asked).toEqual([0, 3, 4, 5]);
  });

  it.each<[string, (Derivation['only'] | undefined)[], boolean]>([
    ['none', [], true],
    ['one of other values', [{ record: false }], true],
    ['one of these values and others', [{ record: true, isActive: true }], true],
    ['one of these values', [{ record: true }], false],
    ['one of these values and some that nobody knows', [{ record: true, another: 1 }], false],
    ['one of a field that nobody knows', [{ another: 1 }], false],
    ['one that names none', [undefined], false],
    ['several of other values', [{ record: false }, { isActive: true }], true],
    ['several, one of these values', [{ record: false }, { isActive: false }], false],
  ])('is known to be silent where there is %s: %j', (_, preconditions, isSilent) => {
    const { set, asked } = told(...preconditions);
    expect(set.isSilent(shown)).toBe(isSilent);
    expect(asked).toEqual([]);
  });

  it('of a name that all objects inherit is not silent', () => {
    expect(told({ toString: 'x' }).set.isSilent(shown)).toBe(false);
  });
});
