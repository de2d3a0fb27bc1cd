import { Type } from '@sinclair/typebox';
import { durationSchema, limitSchema } from '../../core/base/config-fields.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { ipfsSchema } from './ipfs.ts';

/** More would exhaust the disk and the network of one machine. */
const mostRunning = 200;

export const config = Type.Object({
  keptFor: durationSchema(
    'How long a task is kept after it has ended. At least 1h. Then the task is deleted; its result stays.',
    { default: '30d', atLeast: '1h' },
  ),
  maxPerAccount: limitSchema(
    'Tasks of one account, including those that have ended. One more gets 409 `task.too_many`.',
    { default: 100_000, unit: 'tasks' },
  ),
  ipfs: ipfsSchema,
  running: limitSchema(
    'Imports, exports and similar tasks that this process runs concurrently. Further tasks are `waiting` until a process has a free slot; the oldest runs first.',
    { default: 8, maximum: mostRunning, unit: 'tasks' },
  ),
  runningPerAccount: limitSchema(
    'Tasks of one account and type that all nodes together run concurrently. Further tasks are `pending`; the oldest runs first.',
    { default: 4, maximum: mostRunning, unit: 'tasks' },
  ),
  timeLimit: durationSchema(
    'Time for one attempt at a task. Then the attempt has failed, and the task is retried.',
    { default: '12h', atLeast: '1m', atMost: '24h' },
  ),
});

/** What this plugin is given. */
export type TasksKit = Kit<typeof config>;
