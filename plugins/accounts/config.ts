import { Type } from '@sinclair/typebox';
import { limitSchema } from '../../core/base/config-fields.ts';
import type { Kit } from '../../core/plugin/plugin.ts';

export const config = Type.Object({
  maxKeys: limitSchema({
    default: 10_000,
    unit: 'API keys',
    description: 'API keys of one account.',
    beyond: 'One more gets 403 `api_token.too_many`.',
  }),
});

/** What this plugin is given. */
export type AccountsKit = Kit<typeof config>;
