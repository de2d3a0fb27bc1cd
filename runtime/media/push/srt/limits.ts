import { limitTable, valuesOf } from '../../../../core/base/limit-table.ts';

/** Pushes over SRT. */
export const srtLimitTable = limitTable('srt', {
  connectTimeout: {
    value: 5000,
    unit: 'ms',
    meaning: 'How long a server may take to answer the handshake.',
    beyond: 'The attempt fails as `connect`.',
  },
  acceptTimeout: {
    value: 12_000,
    unit: 'ms',
    meaning: 'From the first media that was written to the word of ffmpeg that it is connected.',
    beyond: 'It is killed; the attempt fails as `timeout`.',
  },
  writeTimeout: {
    value: 8000,
    unit: 'ms',
    meaning: 'How long the far side may take nothing at all. SRT itself gives it up after 5 s of silence.',
    beyond: 'ffmpeg ends: `closed`.',
  },
  niceness: {
    value: 5,
    unit: 'steps',
    meaning:
      'How much less urgent than this server a process of ffmpeg that pushes is (nice(1)): what comes in goes first.',
    beyond: 'While the processor is busy such pushes fall behind first.',
  },
  analyze: {
    value: 500,
    unit: 'ms',
    meaning: 'Media that ffmpeg looks at before it connects, where a broadcast has pictures or sound alone.',
    beyond: 'It connects with what it has seen.',
  },
  interleave: {
    value: 100,
    unit: 'ms',
    meaning: 'How long ffmpeg waits for sound that belongs to pictures, or pictures to sound.',
    beyond: 'It sends what it has.',
  },
  linger: {
    value: 250,
    unit: 'ms',
    meaning:
      'How much longer than its latency a connection stays open when a push ends: SRT throws away what has not been played out.',
    beyond: 'It is closed.',
  },
});

/** Durations in milliseconds, sizes in bytes. */
export type SrtLimits = Readonly<Record<keyof typeof srtLimitTable & string, number>>;

export const srtLimits: SrtLimits = valuesOf(srtLimitTable);
