import { Type } from '@sinclair/typebox';
import { durationSchema } from '../../core/duration.ts';

export const config = Type.Object({
  timeout: durationSchema({
    default: '12h',
    atLeast: '1m',
    description: 'How long one try at sending a file to a custom URL may take. At least 1m.',
    beyond: 'It is broken off and tried again.',
  }),
  idleTimeout: durationSchema({
    default: '2m',
    atLeast: '1s',
    description:
      'How long the other side may neither take nor send a byte meanwhile, also while it stores what it has taken. At least 1s.',
    beyond: 'It is broken off and tried again.',
  }),
});
