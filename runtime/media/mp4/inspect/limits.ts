import { limitTable } from '../../../../core/base/limit-table.ts';

const refused = 'The file is refused, and what is too much is named.';

/** What one file may cost that somebody uploaded. */
export const inspectionLimits = limitTable('inspection', {
  indexSize: {
    value: 64 * 1_048_576,
    unit: 'bytes',
    meaning:
      'The `moov` box and all `moof` boxes of a file together, which are read into memory: some 30 h of film.',
    beyond: refused,
  },
  fileBoxes: { value: 250_000, unit: 'boxes', meaning: 'Boxes of a file, side by side.', beyond: refused },
  innerBoxes: { value: 10_000, unit: 'boxes', meaning: 'Boxes in one box.', beyond: refused },
  tracks: { value: 100, unit: 'tracks', meaning: 'Tracks of a file, whatever is in them.', beyond: refused },
  sampleEntries: {
    value: 100,
    unit: 'entries',
    meaning: 'Configurations of the codec in one track.',
    beyond: refused,
  },
  shapeSize: {
    value: 4096,
    unit: 'bytes',
    meaning: 'A box that says how pixels are shaped or coloured.',
    beyond: 'It is left out of what is played.',
  },
  samples: {
    value: 16_000_000,
    unit: 'samples',
    meaning: 'Frames of all tracks together: each is looked at.',
    beyond: refused,
  },
  runs: {
    value: 500_000,
    unit: 'runs',
    meaning: 'Runs of frames in the fragments of a file: mostly one for each track in each.',
    beyond: refused,
  },
  sampleDuration: {
    value: 600,
    unit: 's',
    meaning:
      'How long one frame may last, how far a fragment may begin behind the one before, and a track behind the film.',
    beyond: 'The file is refused: it claims more time than it has frames for.',
  },
  sampleShift: {
    value: 600,
    unit: 's',
    meaning: 'How far the time a frame is shown may be from the time it is decoded.',
    beyond: refused,
  },
  excessDuration: {
    value: 60,
    unit: 's',
    meaning: 'How much longer than its frames last the headers of a film or a track may say that it is.',
    beyond: 'The file is refused: it claims more time than it has frames for.',
  },
  overlap: {
    value: 1,
    unit: 's',
    meaning: 'How far a fragment may begin before the end of the one before.',
    beyond: refused,
  },
  duration: { value: 604_800, unit: 's', meaning: 'A whole film.', beyond: refused },
  startSize: {
    value: 4096,
    unit: 'bytes',
    meaning: 'The `ftyp` box of a film whose index lies behind its samples.',
    beyond: 'The film is not offered with its index in front.',
  },
  readAhead: {
    value: 16_384,
    unit: 'bytes',
    meaning: 'What is read at once where boxes are looked for.',
    beyond: 'It is read in several steps.',
  },
  running: {
    value: 2,
    unit: 'inspections',
    meaning:
      'Inspections that run at once, each with its index in memory, until what playback of the film needs is stored.',
    beyond: 'Further ones wait.',
  },
  waiting: {
    value: 1000,
    unit: 'inspections',
    meaning: 'Inspections that wait for others.',
    beyond: 'Further ones are `inspection.unavailable` (503).',
  },
  readsAtOnce: {
    value: 256,
    unit: 'reads',
    meaning: 'Reads of a file of this machine without a look at what else is to be done.',
    beyond: 'It looks, then goes on.',
  },
  idle: {
    value: 60_000,
    unit: 'ms',
    meaning: 'How long the thread that inspects is kept with nothing to do.',
    beyond: 'It is ended, and begun anew by the next inspection.',
  },
  silence: {
    value: 60_000,
    unit: 'ms',
    meaning: 'How long the thread that inspects may compute without a word.',
    beyond: 'It is ended and begun anew; what ran in it is `inspection.unavailable` (503).',
  },
});
