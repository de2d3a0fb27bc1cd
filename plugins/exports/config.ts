import { Type } from '@sinclair/typebox';
import { durationSchema } from '../../core/base/config-fields.ts';
import type { Kit } from '../../core/plugin/plugin.ts';

export const config = Type.Object({
  idleTimeout: durationSchema(
    '`plugins.tasks.timeLimit` limits a whole attempt; this key limits the time in which the custom URL neither receives nor sends a byte, also while it stores the file. At least 1s. Then the attempt ends and is retried.',
    { default: '2m', atLeast: '1s' },
  ),
});

/** What this plugin is given. */
export type ExportsKit = Kit<typeof config>;
