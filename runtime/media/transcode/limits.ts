import { limitTable, valuesOf } from '../../../core/base/limit-table.ts';

/** What one conversion may do and cost; `conversion` in core/base/limits.ts is what is converted at all. */
export const transcodeLimitTable = limitTable('conversion', {
  waiting: {
    value: 1000,
    unit: 'conversions',
    meaning: 'Conversions that wait for a place on a node (`conversion.running`).',
    beyond: '503 `conversion.unavailable`; a task tries again.',
  },
  look: {
    value: 5000,
    unit: 'ms',
    meaning: 'How often a conversion is looked at.',
    beyond: 'It is looked at again.',
  },
  silence: {
    value: 180_000,
    unit: 'ms',
    meaning:
      'How long ffmpeg may neither take nor give a byte while there is something for it: a decoder that hangs.',
    beyond: 'It is killed; the film is refused.',
  },
  start: {
    value: 600_000,
    unit: 'ms',
    meaning: 'Time that a conversion has beside what its length gives it.',
    beyond: 'With that it is killed; the film is refused.',
  },
  slowness: {
    value: 60,
    unit: 's',
    meaning:
      'Work that a second of film may take, on the average of what is done, however many pictures it has.',
    beyond: 'With `start`, ffmpeg is killed; the film is refused.',
  },
  picture: {
    value: 5,
    unit: 's',
    meaning: 'Work that each picture may take; film of which a picture is left out counts as of `slowness`.',
    beyond: 'With `start` and `passing`, ffmpeg is killed; the film is refused.',
  },
  passing: {
    value: 0.2,
    unit: 's',
    meaning: 'Work that a second of film may take beside its pictures: its sound.',
    beyond: 'See `picture`.',
  },
  ending: {
    value: 24 * 3_600_000,
    unit: 'ms',
    meaning: 'How long ffmpeg may take for what is left to do when it has read all.',
    beyond: 'It is ended; the film is refused. Mostly `silence` ends it before.',
  },
  burst: {
    value: 5,
    unit: 's',
    meaning: 'How much of a film more pictures may come than its frame rate allows.',
    beyond: 'It is refused while it is read.',
  },
  initSize: {
    value: 4 * 1_048_576,
    unit: 'bytes',
    meaning: 'The index of one fragment, or of the whole, that ffmpeg writes.',
    beyond: 'It is killed; the film is refused.',
  },
  readAtOnce: {
    value: 262_144,
    unit: 'bytes',
    meaning: 'What is read of a file that is normalised at one time.',
    beyond: 'The rest is read when ffmpeg has taken that.',
  },
  audioTracks: {
    value: 8,
    unit: 'tracks',
    meaning: 'Tracks of sound that are taken over.',
    beyond: 'The others are left out.',
  },
  fragment: {
    value: 10_000,
    unit: 'ms',
    meaning: 'Film that ffmpeg keeps until it writes a fragment, where key frames are further apart.',
    beyond: 'It is written.',
  },
  normalisedSide: {
    value: 3840,
    unit: 'pixels',
    meaning: 'The longer side of a picture that is encoded when a file is normalised.',
    beyond: 'It is made smaller, its shape kept.',
  },
  hardwareRate: {
    value: 8_000_000,
    unit: 'bit/s',
    meaning: 'Video that is encoded when a file is normalised, by an encoder that knows no constant quality.',
    beyond: 'It is encoded to that rate.',
  },
  soundRate: {
    value: 192_000,
    unit: 'bit/s',
    meaning: 'Sound that is encoded.',
    beyond: 'It is encoded to that rate.',
  },
});

/** Durations in the units of the table. */
export type TranscodeLimits = Readonly<Record<keyof typeof transcodeLimitTable & string, number>>;

export const transcodeLimits: TranscodeLimits = valuesOf(transcodeLimitTable);
