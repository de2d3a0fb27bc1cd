import { limitTable, valuesOf } from '../../../../core/base/limit-table.ts';

const broken = 'What the process writes counts as unreadable; it is ended, and the next one begun.';

/** What the output of a process that makes renditions may cost. */
export const ladderTable = limitTable('ladder', {
  movie: { value: 1_048_576, unit: 'bytes', meaning: 'Its `moov` box.', beyond: broken },
  fragmentHead: { value: 65_536, unit: 'bytes', meaning: 'One of its `moof` boxes.', beyond: broken },
  otherBox: { value: 1_048_576, unit: 'bytes', meaning: 'A box that is of no use here.', beyond: broken },
  fragmentPictures: { value: 1024, unit: 'pictures', meaning: 'Pictures of one fragment.', beyond: broken },
  pictureBytes: {
    value: 32 * 1_048_576,
    unit: 'bytes',
    meaning: 'Pictures of one rendition that wait for their part.',
    beyond: broken,
  },
  pictures: {
    value: 4096,
    unit: 'pictures',
    meaning: 'Pictures of one rendition that wait for their part.',
    beyond: broken,
  },
  order: {
    value: 65_536,
    unit: 'pictures',
    meaning: 'Pictures of the source whose times are kept, to find the places of those that come back.',
    beyond: broken,
  },
  ahead: {
    value: 1000,
    unit: 'ms',
    meaning: 'By how much a picture may be shown later than all that the process was given.',
    beyond: broken,
  },
  drain: {
    value: 5000,
    unit: 'ms',
    meaning:
      'How long the end of a broadcast that is over is still encoded, where its renditions are recorded or pushed.',
    beyond: 'Their process is killed: the recording shows the source there, a push ends earlier.',
  },
});

export type LadderLimits = Readonly<Record<keyof typeof ladderTable & string, number>>;

export const ladderLimits: LadderLimits = valuesOf(ladderTable);
