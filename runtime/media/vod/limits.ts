import { limitTable } from '../../../core/base/limit-table.ts';

const uncut = 'There is no HLS of the file, and the asset says what is too much.';

/** How an uploaded film is cut for HLS. */
export const onDemandLimits = limitTable('on demand', {
  segmentLeast: {
    value: 2,
    unit: 's',
    meaning: 'How short a segment of an uploaded film may be, but for the last.',
    beyond: 'It goes on at least to the next key frame.',
  },
  segmentTarget: {
    value: 4,
    unit: 's',
    meaning: 'How long a segment of an uploaded film should be.',
    beyond: 'It ends at the next key frame.',
  },
  segmentMost: {
    value: 6,
    unit: 's',
    meaning: 'How long a segment may be where there is a key frame before.',
    beyond: 'It ends at the key frame before.',
  },
  segmentLimit: {
    value: 20,
    unit: 's',
    meaning: 'How long a segment may be where no key frame comes.',
    beyond: 'It ends without one: players begin there only with what is before it.',
  },
  segmentSamples: {
    value: 10_000,
    unit: 'samples',
    meaning: 'Frames of a track in one segment.',
    beyond: 'A segment of pictures ends; with so much sound beside pictures there is no HLS of the file.',
  },
  segmentSize: { value: 512 * 1_048_576, unit: 'bytes', meaning: 'One segment.', beyond: uncut },
  segments: { value: 200_000, unit: 'segments', meaning: 'Segments of one film.', beyond: uncut },
  pieces: {
    value: 16,
    unit: 'pieces',
    meaning: 'Stretches of the file that one segment is put together of.',
    beyond:
      'What lies between the nearest goes along, unless that is more than a quarter of the segment (`waste`).',
  },
  scattered: {
    value: 1000,
    unit: 'pieces',
    meaning: 'The same, where what lies between is too much to go along.',
    beyond: uncut,
  },
  headsSize: {
    value: 192 * 1_048_576,
    unit: 'bytes',
    meaning: 'What is kept of a film beside it, to cut it: some 25 h.',
    beyond: uncut,
  },
  headsPiece: {
    value: 1_048_576,
    unit: 'bytes',
    meaning: 'How much of that is gathered for one piece in memory.',
    beyond: 'Another piece is begun.',
  },
});

/** Share of a segment that may be bytes of others. */
export const waste = 0.25;
