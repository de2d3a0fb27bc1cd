import { limitTable, valuesOf } from '../../../core/base/limit-table.ts';

/** What making renditions may take, and how long it is waited for. */
export const transcodingTable = limitTable('renditions', {
  pixelsPerCore: {
    value: 48_000_000,
    unit: 'pixels/s',
    meaning:
      'What one core makes, as `decodingWeight` and `processWork` count it, where `renditions.capacity` does not say what the node does.',
    beyond:
      'Further renditions are refused. A core was seen to encode 55 to 65 million with libx264 veryfast beside decoding and scaling.',
  },
  decodingWeight: {
    value: 0.25,
    unit: 'pixels',
    meaning: 'What a pixel that is decoded takes, measured by one that is encoded.',
    beyond: 'It counts for so much, however small the renditions are.',
  },
  processWork: {
    value: 1_000_000,
    unit: 'pixels/s',
    meaning: 'What each process takes beside its pixels.',
    beyond: 'It counts for so much, however few there are.',
  },
  processShare: {
    value: 0.75,
    unit: 'of `ffmpeg.processes`',
    meaning:
      'Processes that make renditions, one at least: stills, pushes over SRT and conversions find a place too.',
    beyond: 'Further renditions wait (`capacity`); viewers get the source.',
  },
  threads: {
    value: 4,
    unit: 'threads',
    meaning: 'Threads of one encoder, and those that scale.',
    beyond: 'ffmpeg starts no more.',
    key: 'renditions.threads',
  },
  decoderThreads: {
    value: 4,
    unit: 'threads',
    meaning:
      'Threads of one decoder; it has one for each `pixelsPerDecoder`, because each more delays by a picture.',
    beyond: 'ffmpeg starts no more.',
  },
  pixelsPerDecoder: {
    value: 130_000_000,
    unit: 'pixels/s',
    meaning: 'What one thread decodes in time: 1080p60.',
    beyond: 'The decoder gets another thread.',
  },
  side: {
    value: 8192,
    unit: 'pixels',
    meaning: 'Width and height of a source that is transcoded.',
    beyond: 'It is not (`source`); viewers get the source.',
  },
  picture: {
    value: 8192 * 4352,
    unit: 'pixels',
    meaning: 'Picture of a source that is transcoded.',
    beyond: 'It is not (`source`); viewers get the source.',
  },
  frameRate: {
    value: 150,
    unit: 'pictures/s',
    meaning:
      'Frame rate of a source that is transcoded, as it says and as its pictures come: 120, and some jitter.',
    beyond: 'It is not (`source`); viewers get the source.',
  },
  leastBitrate: {
    value: 100_000,
    unit: 'bit/s',
    meaning:
      'What a rendition keeps of its bitrate when its source is smaller than its profile, as far as the profile has it.',
    beyond: 'It is encoded to that rate, and not to less.',
  },
  leastRate: {
    value: 5,
    unit: 'pictures/s',
    meaning:
      'Fewest that a live rendition has when its source has so many. ffmpeg writes all renditions in the order of their times.',
    beyond: 'A profile with fewer gets so many: all others would wait for its next picture.',
  },
  assumedRate: {
    value: 30,
    unit: 'pictures/s',
    meaning: 'Frame rate of a source that says none, until its pictures were counted.',
    beyond: 'What it takes is planned anew when it has more.',
  },
  stall: {
    value: 6000,
    unit: 'ms',
    meaning: 'How long a process of ffmpeg may give no picture for what it was given to read.',
    beyond: 'It is killed (`stalled`), and the next one is started.',
    key: 'renditions.stall',
  },
  tail: {
    value: 10_000,
    unit: 'ms',
    meaning: 'How long a process may take for what it was given last, when nothing more comes.',
    beyond: 'It is ended; the renditions lack their end.',
  },
  behind: {
    value: 4000,
    unit: 'ms',
    meaning:
      'How far behind the source a process is thought to keep up. More than `renditionLag`, beyond which viewers are not offered them: a process is not ended for what it may soon make good.',
    beyond: 'They are `behind`; when that lasts for `renditions.patience`, the process is ended.',
    key: 'renditions.behind',
  },
  patience: {
    value: 5000,
    unit: 'ms',
    meaning: 'How long they may be so late without gaining a second.',
    beyond: 'The process is ended (`slow`); the next one waits for `slowPause` at least.',
    key: 'renditions.patience',
  },
  gain: {
    value: 1000,
    unit: 'ms',
    meaning: 'That second.',
    beyond: 'It counts as catching up: patience begins again.',
  },
  slowPause: {
    value: 15_000,
    unit: 'ms',
    meaning:
      'Wait before renditions that were too slow are begun again: the machine gets rid of what else it has to do.',
    beyond: 'They are begun again, at the newest segment when the window is not longer than that.',
  },
  retryFirst: {
    value: 250,
    unit: 'ms',
    meaning: 'Wait before a process that ended by itself is started again; twice as long each time.',
    beyond: 'It is started again.',
  },
  retryMost: {
    value: 30_000,
    unit: 'ms',
    meaning: 'Longest of these waits.',
    beyond: 'It is started again.',
    key: 'renditions.retryMost',
  },
  steady: {
    value: 30_000,
    unit: 'ms',
    meaning: 'How long a process must have run for the waits to begin with the first again.',
    beyond: 'They do.',
  },
  keptThrough: {
    value: 5000,
    unit: 'ms',
    meaning:
      'Longest wait, for the next attempt or for media, through which a broadcast keeps its part of the capacity.',
    beyond: 'Others may have it.',
  },
  calm: {
    value: 3000,
    unit: 'ms',
    meaning: 'How long viewers must have been offered all renditions again for what was wrong to be over.',
    beyond: 'Nothing is said of it any more.',
  },
  lookAgain: {
    value: 10_000,
    unit: 'ms',
    meaning: 'How long renditions that were refused are not looked at again, unless capacity frees.',
    beyond: 'They are: ffmpeg may have been installed, the source may be another.',
  },
  look: {
    value: 250,
    unit: 'ms',
    meaning: 'How often the deadlines of all renditions are looked at.',
    beyond: 'They are looked at again.',
  },
});

/** Durations in milliseconds. */
export type TranscodingLimits = Readonly<Record<keyof typeof transcodingTable & string, number>>;

export const transcodingLimits: TranscodingLimits = valuesOf(transcodingTable);
