import { limitTable } from '../../../core/base/limit-table.ts';

/** Files that somebody sends. How large one may be, and how many come at one time, is up to who takes them. */
export const intakeLimits = limitTable('intake', {
  perFile: {
    value: 2 * 1_048_576,
    unit: 'bytes',
    meaning: 'What has come of one file and is not written yet.',
    beyond: 'No more of it is read until it is: the sender is as fast as the disk.',
  },
  inMemory: {
    value: 24 * 1_048_576,
    unit: 'bytes',
    meaning: 'The same of all files together.',
    beyond: 'Each file gets one piece further at a time.',
  },
  gather: {
    value: 65_536,
    unit: 'bytes',
    meaning: 'Small pieces of one file that come at one time and are written together.',
    beyond: 'The others are written after them.',
  },
  turn: {
    value: 4096,
    unit: 'pieces',
    meaning: 'Pieces of one file that are read one behind the other.',
    beyond: 'Others have their turn first.',
  },
  silence: {
    value: 30_000,
    unit: 'ms',
    meaning: 'How long a sender may send nothing.',
    beyond: '408 `intake.silent`; what has come is removed.',
  },
  sync: {
    value: 32 * 1_048_576,
    unit: 'bytes',
    meaning: 'Written bytes after which they are brought to disk, so that the end does not take long.',
    beyond: 'They are brought there while others are written.',
  },
  look: {
    value: 16 * 1_048_576,
    unit: 'bytes',
    meaning:
      'Bytes of one file after which it is looked at how much room there is; one of unknown length is promised so many at a time.',
    beyond: '507 `intake.full` when too little is left.',
  },
  rehash: {
    value: 262_144,
    unit: 'bytes',
    meaning: 'Piece in which a partial file is read to be hashed, where the process that took it is gone.',
    beyond: 'Other files have their turn before the next one.',
  },
  idle: {
    value: 60_000,
    unit: 'ms',
    meaning: 'How long the thread that writes is kept with nothing to do.',
    beyond: 'It is ended, and begun anew by the next file.',
  },
});
