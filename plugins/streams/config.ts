import { Type } from '@sinclair/typebox';
import { durationSchema, limitSchema } from '../../core/base/config-fields.ts';
import { oneOf } from '../../core/base/schema.ts';
import type { Kit } from '../../core/plugin/plugin.ts';

export const config = Type.Object({
  hold: Type.Optional(
    durationSchema(
      'How long a broadcast stays on the air after its connection broke. At most reconnectWindow. Default: 30s, or reconnectWindow when that is shorter. Then the broadcast ends: `stream.idle`, playlist 404.',
    ),
  ),
  reconnectWindow: durationSchema(
    'How long after its last media a session continues with the same key. After that, the next broadcast is a new session.',
    { default: '6m' },
  ),
  busyKey: oneOf(['takeover', 'refuse'], {
    default: 'takeover',
    expected: '"takeover" or "refuse"',
    description:
      'What happens to a second broadcast with a key in use: `takeover` ends the first, `refuse` refuses the second.',
  }),
  maxStreams: limitSchema('Streams of one account, without sessions. One more gets 403 `stream.too_many`.', {
    default: 1_000_000,
    unit: 'streams',
  }),
  relayMemory: limitSchema(
    'Memory for media of other nodes that this node serves. Beyond it the least recently used media is dropped, and fetched again when needed.',
    { default: 256, minimum: 64, unit: 'MiB' },
  ),
  maxWaitingViewers: limitSchema(
    'Playlist requests that may wait for a broadcast to come back. Further ones get 404 `playback.not_live` at once.',
    { default: 2000, minimum: 0, unit: 'requests' },
  ),
});

/** What this plugin is given. */
export type StreamsKit = Kit<typeof config>;
