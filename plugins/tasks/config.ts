import { Type } from '@sinclair/typebox';
import { durationSchema, limitSchema } from '../../core/base/config-fields.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { ipfsSchema } from './ipfs.ts';

/** More would exhaust the disk and the network of one machine. */
const mostRunning = 200;

export const config = Type.Object({
  keptFor: durationSchema({
    default: '30d',
    atLeast: '1h',
    description: 'How long a task is kept after it has ended. At least 1h.',
    beyond: 'Then the task is deleted; its result stays.',
  }),
  maxPerAccount: limitSchema({
    default: 100_000,
    unit: 'tasks',
    description: 'Tasks of one account, including those that have ended.',
    beyond: 'One more gets 409 `task.too_many`.',
  }),
  ipfs: ipfsSchema,
  running: limitSchema({
    default: 8,
    maximum: mostRunning,
    unit: 'tasks',
    description: 'Imports, exports and similar tasks that this process runs concurrently.',
    beyond: 'Further tasks are `waiting` until a process has a free slot; the oldest runs first.',
  }),
  runningPerAccount: limitSchema({
    default: 4,
    maximum: mostRunning,
    unit: 'tasks',
    description: 'Tasks of one account and type that all nodes together run concurrently.',
    beyond: 'Further tasks are `pending`; the oldest runs first.',
  }),
  timeLimit: durationSchema({
    default: '12h',
    atLeast: '1m',
    atMost: '24h',
    description: 'Time for one attempt at a task.',
    beyond: 'Then the attempt has failed, and the task is retried.',
  }),
});

/** What this plugin is given. */
export type TasksKit = Kit<typeof config>;
