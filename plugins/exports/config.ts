import { Type } from '@sinclair/typebox';
import { durationSchema } from '../../core/base/config-fields.ts';
import type { Kit } from '../../core/plugin/plugin.ts';

export const config = Type.Object({
  idleTimeout: durationSchema(
    'Longest time in which the server at the custom URL neither receives nor sends a byte, also while it stores the file. At least 1s. Then the attempt ends and is retried. `plugins.tasks.timeLimit` limits the whole attempt.',
    { default: '2m', atLeast: '1s' },
  ),
});

/** What this plugin is given. */
export type ExportsKit = Kit<typeof config>;
