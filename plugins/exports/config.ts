import { Type } from '@sinclair/typebox';
import { durationSchema } from '../../core/base/config-fields.ts';
import type { Kit } from '../../core/plugin/plugin.ts';

export const config = Type.Object({
  idleTimeout: durationSchema({
    default: '2m',
    atLeast: '1s',
    description:
      'How long a custom URL may neither take nor send a byte, also while it stores what it has taken. At least 1s. The whole try is bounded by `plugins.tasks.timeLimit`.',
    beyond: 'It is broken off and tried again.',
  }),
});

/** What this plugin is given. */
export type ExportsKit = Kit<typeof config>;
