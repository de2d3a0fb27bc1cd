import { limitTable } from '../../core/limit-table.ts';

export const multistreamLimits = limitTable('multistream', {
  targetsPerStream: {
    value: 50,
    unit: 'targets',
    meaning: '`multistream.targets` of one stream.',
    beyond: '422 `body.invalid`.',
  },
  urlLength: {
    value: 2000,
    unit: 'characters',
    meaning: 'The URL of a target.',
    beyond: '422 `body.invalid`.',
  },
  changeAttempts: {
    value: 5,
    unit: 'attempts',
    meaning: 'How often a change of a target is tried while others change it.',
    beyond: '409 `target.busy`; nothing was changed.',
  },
});
