import { Type } from '@sinclair/typebox';
import { limitSchema } from '../../core/base/config-fields.ts';
import type { Kit } from '../../core/plugin/plugin.ts';

export const config = Type.Object({
  maxTargets: limitSchema('Multistream targets of one account. One more gets 403 `target.too_many`.', {
    default: 100_000,
    unit: 'targets',
  }),
});

/** What this plugin is given. */
export type MultistreamKit = Kit<typeof config>;
