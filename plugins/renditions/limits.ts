import { limitTable } from '../../core/limit-table.ts';

export const renditionLimits = limitTable('renditions', {
  profiles: {
    value: 50,
    unit: 'profiles',
    meaning: 'Profiles of one stream, or of the config.',
    beyond: '422 `body.invalid`; in the config, the start is refused.',
  },
  interval: {
    value: 10,
    unit: 's',
    meaning: 'From one picture of a profile to the next: `fpsDen / fps`.',
    beyond:
      '400 `renditions.invalid` for a stream, 422 `body.invalid` for a transcode; in the config, the start is refused.',
  },
});
