import { Type } from '@sinclair/typebox';
import { durationSchema, limitSchema } from '../../core/base/config-fields.ts';
import { ipfsSchema } from './ipfs.ts';
import { taskLimits } from './limits.ts';

const mostPlaces = taskLimits.places.value;

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
  running: limitSchema({
    default: 8,
    maximum: mostPlaces,
    unit: 'tasks',
    description: 'Imports, exports and the like that this process works at at a time.',
    beyond: 'They are `waiting` until it or another has a place; first come, first served.',
  }),
  runningPerAccount: limitSchema({
    default: 4,
    maximum: mostPlaces,
    unit: 'tasks',
    description: 'Tasks of one account and one type that all nodes together work at at a time.',
    beyond: 'They are `pending`, and let in oldest first.',
  }),
  timeLimit: durationSchema({
    default: '12h',
    atLeast: '1m',
    atMost: '24h',
    description: 'Longest that one try at a task may take.',
    beyond: 'The try has failed, and the task is tried again.',
  }),
});
