import { limitTable } from '../../core/base/limit-table.ts';

export const diskLimits = limitTable('disks', {
  look: {
    value: 10_000,
    unit: 'ms',
    meaning: 'How often it is looked at how full the disks of this node are.',
    beyond: 'It is looked again.',
  },
  slack: {
    value: 64 * 1_048_576,
    unit: 'bytes',
    meaning: 'What must be free beyond the reserve before a disk that was nearly full is so no longer.',
    beyond: 'The log says that there is room again.',
  },
});
