import { Type } from '@sinclair/typebox';
import { durationSchema, limitSchema } from '../../core/base/config-fields.ts';

export const config = Type.Object({
  hold: Type.Optional(
    durationSchema({
      description:
        'How long a broadcast whose connection broke stays on the air. At most reconnectWindow. Default: 30s, or reconnectWindow when that is shorter.',
      beyond: 'It ends: `stream.idle`, playlist 404.',
    }),
  ),
  reconnectWindow: durationSchema({
    default: '6m',
    description: 'How long after its last media a session is continued by the same key.',
    beyond: 'The next broadcast is a new session.',
  }),
  busyKey: Type.Union([Type.Literal('takeover'), Type.Literal('refuse')], {
    default: 'takeover',
    expected: '"takeover" or "refuse"',
    description:
      'What a second broadcast with a key in use does: `takeover` ends the first, `refuse` is refused.',
  }),
  maxStreams: limitSchema({
    default: 1_000_000,
    unit: 'streams',
    description: 'Streams one account may have; sessions do not count.',
    beyond: '403 `stream.too_many`.',
  }),
  relayMemory: limitSchema({
    default: 256,
    minimum: 64,
    unit: 'MiB',
    description: 'MiB of media of other nodes that this one may keep for its viewers.',
    beyond: 'What was asked for longest ago is fetched again.',
  }),
  maxWaitingViewers: limitSchema({
    default: 2000,
    minimum: 0,
    unit: 'requests',
    description: 'Playlist requests that may wait at one time for a broadcast to come back.',
    beyond: 'Others get 404 `playback.not_live` at once.',
  }),
});
