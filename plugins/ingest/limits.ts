import { limitTable } from '../../core/limit-table.ts';

export const ingestLimits = limitTable('ingest', {
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
