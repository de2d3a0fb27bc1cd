import { limitTable } from '../../../core/base/limit-table.ts';

/** Files that are packed for IPFS. */
export const packingLimits = limitTable('packing', {
  running: {
    value: 2,
    unit: 'files',
    meaning:
      'Files that one node packs at a time. One takes up to 50 MiB of memory by the older CID profile.',
    beyond: 'Others wait.',
  },
  waiting: {
    value: 1000,
    unit: 'files',
    meaning: 'Files that wait for others.',
    beyond: 'Further ones are `packing.unavailable` (503).',
  },
  perFile: {
    value: 4 * 1_048_576,
    unit: 'bytes',
    meaning: 'What was read of one file and is not packed yet.',
    beyond: 'No more of it is read until it is.',
  },
  sync: {
    value: 32 * 1_048_576,
    unit: 'bytes',
    meaning: 'Written bytes after which they are brought to disk, so that the end does not take long.',
    beyond: 'They are brought there while others are written.',
  },
  look: {
    value: 64 * 1_048_576,
    unit: 'bytes',
    meaning: 'Bytes of one file after which it is looked at how much room there is.',
    beyond: '507 `packing.full` when too little is left.',
  },
  idle: {
    value: 60_000,
    unit: 'ms',
    meaning: 'How long the thread that packs is kept with nothing to do.',
    beyond: 'It is ended, and begun anew by the next file.',
  },
  silence: {
    value: 60_000,
    unit: 'ms',
    meaning: 'How long the thread that packs may be without a word while it has something to pack.',
    beyond: 'It is ended and begun anew; what ran in it is `packing.unavailable` (503).',
  },
});
