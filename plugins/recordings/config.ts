import { Type } from '@sinclair/typebox';
import { durationSchema } from '../../core/base/config-fields.ts';
import type { Kit } from '../../core/plugin/plugin.ts';

export const config = Type.Object({
  giveUp: durationSchema({
    default: '24h',
    atLeast: '1m',
    description:
      'How long after the end of its session a recording is tried to be finished, should a node, a disk or the blob store be away.',
    beyond:
      'What can be had by then is the recording, and an issue of the session says what is missing; when that is nothing, it has failed.',
  }),
});

/** What this plugin is given. */
export type RecordingsKit = Kit<typeof config>;
