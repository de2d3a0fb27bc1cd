import { limitTable } from '../../core/base/limit-table.ts';

export const renditionLimits = limitTable('renditions', {
  profiles: {
    value: 50,
    unit: 'profiles',
    meaning: 'Profiles of one stream, or of the config.',
    beyond: '422 `body.invalid`; in the config, the start is refused.',
  },
});
