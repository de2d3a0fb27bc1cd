import { Type } from '@sinclair/typebox';
import { durationSchema } from '../../core/duration.ts';
import { limitSchema } from '../../core/limit-table.ts';

export const config = Type.Object({
  giveUp: durationSchema({
    default: '24h',
    atLeast: '1m',
    description:
      'How long after the end of its session a recording is tried to be finished, should a node, a disk or the blob store be away.',
    beyond:
      'What can be had by then is the recording, and an issue of the session says what is missing; when that is nothing, it has failed.',
  }),
  playbackMemory: limitSchema({
    default: 64,
    minimum: 16,
    unit: 'MiB',
    description:
      'MiB that playlists and indexes of recordings may take in memory. Those of a day take 3 MiB, and 8 while they are made.',
    beyond: 'Those used longest ago are read again; what does not fit alone is 503 `server.busy`.',
  }),
});
