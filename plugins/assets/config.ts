import { Type } from '@sinclair/typebox';
import { durationSchema } from '../../core/duration.ts';
import { limitSchema } from '../../core/limit-table.ts';

export const config = Type.Object({
  unfinishedFor: durationSchema({
    default: '7d',
    atLeast: '1d',
    description:
      'How long an upload of an asset may be unfinished. At least 1d; one that still grows is never too old.',
    beyond: 'It is aborted, and what it stored is removed.',
  }),
  playbackMemory: limitSchema({
    default: 64,
    minimum: 16,
    unit: 'MiB',
    description:
      'MiB that playlists and indexes of assets and recordings may take in memory. Those of a day take 3 MiB, and 8 while they are made.',
    beyond: 'Those used longest ago are read again; what does not fit alone is 503 `server.busy`.',
  }),
});
