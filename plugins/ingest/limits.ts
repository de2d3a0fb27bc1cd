import { limitTable } from '../../core/base/limit-table.ts';

export const ingestLimits = limitTable('ingest', {
  databaseCheck: {
    value: 60_000,
    unit: 'ms',
    meaning: 'How often it is looked whether the database of locations has changed.',
    beyond: 'A changed one is read; one that cannot be read leaves the one before in use.',
  },
  regions: {
    value: 1000,
    unit: 'regions',
    meaning: 'Regions in the config.',
    beyond: 'The start is refused.',
  },
  cidrs: {
    value: 10_000,
    unit: 'blocks',
    meaning: 'Address blocks of one region.',
    beyond: 'The start is refused.',
  },
});
