import { limitTable, valuesOf } from '../../../../core/base/limit-table.ts';

/** Blobs in a directory. */
export const directoryLimits = limitTable('blobs', {
  piece: {
    value: 256 * 1024,
    unit: 'bytes',
    meaning: 'Bytes read from or written to a file in one go, off the main thread.',
    beyond: 'The rest follows when the reader, or the disk, has taken them.',
  },
  unsynced: {
    value: 64 * 1_048_576,
    unit: 'bytes',
    meaning: 'Bytes of one file that are written before they are synced.',
    beyond: 'They are synced, so that the end of a large file does not wait for the disk to take all of it.',
  },
  strayAge: {
    value: 3_600_000,
    unit: 'ms',
    meaning: 'How long a half-written file of another machine may lie without being written to.',
    beyond:
      'The next start removes it; whoever writes it still gets 503 `blobs.unavailable`. Those of this machine go at once.',
  },
  completedAge: {
    value: 24 * 3_600_000,
    unit: 'ms',
    meaning: 'How long it is remembered that an upload was completed, for those who ask again.',
    beyond: 'They are told that it is gone.',
  },
  statAtOnce: {
    value: 32,
    unit: 'files',
    meaning: 'Files of a list that are looked at side by side.',
    beyond: 'The others after them.',
  },
  folderRetries: {
    value: 20,
    unit: 'attempts',
    meaning: 'How often a file is put where others delete the folder as it becomes empty.',
    beyond: '503 `blobs.unavailable`; nothing was written.',
  },
  lockWait: {
    value: 5_000,
    unit: 'ms',
    meaning: 'Waiting for other processes that replace a blob under a condition.',
    beyond: '503 `blobs.busy`; nothing was written.',
  },
});

export const { piece, unsynced, strayAge, completedAge, statAtOnce, folderRetries, lockWait } =
  valuesOf(directoryLimits);
