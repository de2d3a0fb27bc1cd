import { Type } from '@sinclair/typebox';
import { durationSchema } from '../../core/duration.ts';
import { limitSchema } from '../../core/limit-table.ts';
import { ipfsSchema } from './ipfs.ts';

export const config = Type.Object({
  keptFor: durationSchema({
    default: '30d',
    atLeast: '1h',
    description: 'How long a task is remembered after it has ended. At least 1h.',
    beyond: 'It is forgotten; what it made stays.',
  }),
  maxPerAccount: limitSchema({
    default: 100_000,
    unit: 'tasks',
    description: 'Tasks an account may have, those that have ended and are remembered among them.',
    beyond: '409 `task.too_many`.',
  }),
  ipfs: ipfsSchema,
});
