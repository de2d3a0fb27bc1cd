import { Type } from '@sinclair/typebox';
import { durationSchema } from '../../core/base/config-fields.ts';
import type { Kit } from '../../core/plugin/plugin.ts';

export const config = Type.Object({
  giveUp: durationSchema(
    'How long after the end of its session the server tries to finish a recording, if a node, a disk or the blob store does not respond. The recording is then made of the available parts, and an issue of the session names the missing parts. Without any part it fails.',
    { default: '24h', atLeast: '1m' },
  ),
});

/** What this plugin is given. */
export type RecordingsKit = Kit<typeof config>;
