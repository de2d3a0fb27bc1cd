import { Type } from '@sinclair/typebox';
import { durationSchema } from '../../core/duration.ts';

export const config = Type.Object({
  unfinishedFor: durationSchema({
    default: '7d',
    atLeast: '1d',
    description:
      'How long an upload of an asset may be unfinished. At least 1d; one that still grows is never too old.',
    beyond: 'It is aborted, and what it stored is removed.',
  }),
});
