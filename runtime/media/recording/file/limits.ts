import { limitTable } from '../../../../core/base/limit-table.ts';

/** The file of a take. */
export const takeFileLimits = limitTable('media', {
  takeExtent: {
    value: 8 * 1_048_576,
    unit: 'bytes',
    meaning: 'The open end of a recording that may still change: neither hashed nor uploaded.',
    beyond: 'It is closed where its segment ends, and never changed again.',
  },
  takeSegment: {
    value: 1_073_741_824,
    unit: 'bytes',
    meaning: 'A segment in the file of a recording. The packager cuts long before.',
    beyond: 'Another begins with the next part.',
  },
  takeKeyless: {
    value: 10,
    unit: 's',
    meaning: 'A segment of a recording, when the one that follows it live begins without a key frame.',
    beyond: 'The next segment begins without one.',
  },
  takeFragmentIndex: {
    value: 1_048_576,
    unit: 'bytes',
    meaning: 'The index (`moof`) of one part in the file of a recording, room for some 60,000 samples.',
    beyond: 'The part is refused; found in a file, it is taken for torn and cut off.',
  },
  takeInit: {
    value: 262_144,
    unit: 'bytes',
    meaning: 'An init segment in the file of a recording. It holds two headers of 64 KiB at most.',
    beyond: 'It is refused; found in a file, it is taken for torn and cut off.',
  },
  takeMarker: {
    value: 4096,
    unit: 'bytes',
    meaning: 'What is noted in the file before a run of segments: codecs, size of the picture.',
    beyond: 'The run is refused; found in a file, it is taken for torn and cut off.',
  },
  takeTracks: {
    value: 8,
    unit: 'tracks',
    meaning: 'Tracks of one init segment or part. The packager writes two.',
    beyond: 'It is refused; found in a file, it is taken for torn and cut off.',
  },
  takeZeros: {
    value: 64,
    unit: 'bytes',
    meaning: 'Zeros with which the last part of a file may end. A power failure leaves many.',
    beyond: 'That part is taken for torn and cut off.',
  },
  takeStretch: {
    value: 86_400,
    unit: 's',
    meaning: 'How long a recording waits in one track for what goes on in another.',
    beyond: 'The track goes on at once: its times were damaged.',
  },
  takeAway: {
    value: 60,
    unit: 's',
    meaning: 'How long one track of a recording may be away within a run.',
    beyond: 'It goes on at once: its times were damaged.',
  },
  takeTurn: {
    value: 65_536,
    unit: 'bytes',
    meaning: 'Indexes of parts that are looked at in one go, some 2 ms of work.',
    beyond: 'Other recordings have their turn, then it goes on.',
  },
  takePiece: {
    value: 262_144,
    unit: 'bytes',
    meaning:
      'The index of a finished recording (`moov`) that is copied, compared, changed or written in one go.',
    beyond: 'Other recordings have their turn, then it goes on.',
  },
  takeRows: {
    value: 8192,
    unit: 'segments',
    meaning: 'Segments of a finished recording that are looked at in one go.',
    beyond: 'Other recordings have their turn, then it goes on.',
  },
  renditionAway: {
    value: 20,
    unit: 'ms',
    meaning: 'By how much a segment of a rendition may be shorter or longer than that of its source.',
    beyond: 'A part of it is missing: the recording shows the segment of the source in its place.',
  },
  takeWindow: {
    value: 65_536,
    unit: 'bytes',
    meaning: 'Read at once of a finished recording, where its parts are small.',
    beyond: 'It is read in several pieces.',
  },
});
