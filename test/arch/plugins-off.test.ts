import { expect, it } from 'vitest';
import { importPlugins } from '../../config/plugins.ts';
import { planOf } from '../../runtime/boot/plan.ts';
import { pluginNeeds } from '../../scripts/plugin-needs.ts';
import { allPlugins } from '../kit/all-plugins.ts';

const plugins = await allPlugins();
const needs = pluginNeeds(plugins);

it.each(needs.map((one) => [one.id, one]))(
  'without %s the program starts, or the refusal names all that need it',
  async (_, { id, neededBy }) => {
    const refused = async (off: readonly string[]) => {
      const slices = Object.fromEntries(off.map((one) => [one, false]));
      const found = await importPlugins(slices);
      return [...found.problems, ...planOf(found.plugins).problems];
    };
    const named = (await refused([id])).map((problem) => /^plugin ([a-z-]+): /.exec(problem)?.[1]);
    expect(plugins.map((one) => one.id).filter((one) => named.includes(one))).toEqual(neededBy);
    expect(await refused([id, ...neededBy])).toEqual([]);
  },
);

it('stills need neither streams nor assets', () => {
  const stills = needs.find(({ id }) => id === 'stills');
  expect(stills).toEqual({ id: 'stills', needs: [], neededBy: [], addsTo: ['streams', 'assets'] });
});
