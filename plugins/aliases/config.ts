import { type Kit, limitSchema, Type } from '../../sdk/plugin.ts';

export const config = Type.Object({
  max: limitSchema('Aliases of one account. One more gets 409 `alias.too_many`.', {
    unit: 'aliases',
    minimum: 1,
    maximum: 10_000_000,
    default: 200_000,
  }),
});
export type AliasesKit = Kit<typeof config>;
