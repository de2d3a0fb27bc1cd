import { limitSchema } from '../../core/limit-table.ts';

/** Keys of the plugin's config that concern playback. */
export const playbackConfig = {
  playbackMemory: limitSchema({
    default: 64,
    minimum: 16,
    unit: 'MiB',
    description:
      'MiB that playlists and indexes of recordings may take in memory. Those of a day take 3 MiB, and 8 while they are made.',
    beyond: 'Those used longest ago are read again; what does not fit alone is 503 `server.busy`.',
  }),
};
