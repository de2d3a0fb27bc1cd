import { Type } from '@sinclair/typebox';

export const config = Type.Object({
  maxBitrate: Type.Integer({
    default: 20_000_000,
    minimum: 100_000,
    description: 'Bitrate, bit/s, beyond which a broadcast is shown as one that makes players stall.',
  }),
});
