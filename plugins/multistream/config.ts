import { Type } from '@sinclair/typebox';
import { limitSchema } from '../../core/base/config-fields.ts';
import type { Kit } from '../../core/plugin/plugin.ts';

export const config = Type.Object({
  maxTargets: limitSchema({
    default: 100_000,
    unit: 'targets',
    description: 'Multistream targets of one account.',
    beyond: 'One more gets 403 `target.too_many`.',
  }),
});

/** What this plugin is given. */
export type MultistreamKit = Kit<typeof config>;
