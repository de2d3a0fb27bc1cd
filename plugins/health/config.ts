import { Type } from '@sinclair/typebox';
import { limitSchema } from '../../core/base/config-fields.ts';

export const config = Type.Object({
  maxBitrate: limitSchema({
    default: 20_000_000,
    minimum: 100_000,
    unit: 'bit/s',
    description: 'Bitrate of a broadcast, bit/s.',
    beyond: 'It is shown as one that makes players stall.',
  }),
});
