import { Type } from '@sinclair/typebox';
import { limitSchema } from '../../core/base/config-fields.ts';
import type { Kit } from '../../core/plugin/plugin.ts';

export const config = Type.Object({
  maxKeys: limitSchema('API keys of one account. One more gets 403 `api_token.too_many`.', {
    default: 10_000,
    unit: 'API keys',
  }),
});

/** What this plugin is given. */
export type AccountsKit = Kit<typeof config>;
