import { limitTable, valuesOf } from '../../../core/base/limit-table.ts';

/** What processes of ffmpeg may do and cost. */
export const ffmpegLimitTable = limitTable('ffmpeg', {
  processes: {
    value: 50,
    unit: 'processes',
    meaning: 'Processes of ffmpeg on this node at one time.',
    beyond: 'No further one is started; whoever wanted it says so, and tries again where it matters.',
    key: 'ffmpeg.processes',
  },
  startPause: {
    value: 100,
    unit: 'ms',
    meaning:
      'Between two starts: each holds up the thread that reads sockets, and longer while others start.',
    beyond: 'The next one is started. Those that come at once wait for their turn.',
  },
  lookTimeout: {
    value: 10_000,
    unit: 'ms',
    meaning: 'One question to ffmpeg about itself: its version, its protocols, whether it hides options.',
    beyond: 'That process is killed; ffmpeg counts as missing, or as one of which that is not known.',
  },
  lookBytes: {
    value: 262_144,
    unit: 'bytes',
    meaning: 'The answer to such a question.',
    beyond: 'That process is killed; ffmpeg counts as missing.',
  },
  lookAgain: {
    value: 60_000,
    unit: 'ms',
    meaning: 'How long a missing ffmpeg is not looked for again.',
    beyond: 'It is looked for again when somebody wants it.',
  },
  askAgain: {
    value: 5000,
    unit: 'ms',
    meaning:
      'How long an ffmpeg that could not be asked whether it hides options is not asked again. Nothing that is secret is given to it.',
    beyond: 'It is asked again when somebody wants it.',
  },
  inputAtOnce: {
    value: 65_536,
    unit: 'bytes',
    meaning: 'What is handed at one time to the input of a process that reads slowly.',
    beyond: 'The rest is not taken; whoever writes is told when it goes on.',
  },
  errorTail: {
    value: 16_384,
    unit: 'bytes',
    meaning: 'What is kept of what a process says on its standard error: the end of it.',
    beyond: 'What was said before is forgotten.',
  },
  errorsAtOnce: {
    value: 65_536,
    unit: 'bytes',
    meaning: 'What is read of that without a pause.',
    beyond: 'It is read on after 100 ms: until then a process that floods it waits.',
  },
  errorPause: {
    value: 100,
    unit: 'ms',
    meaning: 'That pause.',
    beyond: 'It is read on.',
  },
  lastWords: {
    value: 2000,
    unit: 'ms',
    meaning: 'How long the last output of a process that is gone may be on its way.',
    beyond: 'It is not waited for: a child of that process has its output open.',
  },
  endTimeout: {
    value: 3000,
    unit: 'ms',
    meaning: 'How long a process may take to end after its input was closed.',
    beyond: 'It gets SIGTERM.',
  },
  termTimeout: {
    value: 2000,
    unit: 'ms',
    meaning: 'How long it may take to end after SIGTERM.',
    beyond: 'It gets SIGKILL.',
  },
  maxAlloc: {
    value: 256 * 1_048_576,
    unit: 'bytes',
    meaning: 'One block of memory that ffmpeg may ask for (`-max_alloc`).',
    beyond: 'ffmpeg gives up what needs more.',
  },
  leastBitrate: {
    value: 1000,
    unit: 'bit/s',
    meaning:
      'Least bit rate that H.264 is encoded with: libx264 counts in thousands, and does not open with none.',
    beyond: 'A profile with less gets this.',
  },
  mostBitrate: {
    value: 1_000_000_000,
    unit: 'bit/s',
    meaning: 'Most bit rate that H.264 is encoded with: ffmpeg holds twice as much as a number of 32 bits.',
    beyond: 'A profile with more gets this.',
  },
  hiddenLine: {
    value: 900,
    unit: 'bytes',
    meaning: 'One option that is kept out of the command line. ffmpeg reads lines of 999.',
    beyond: 'The process is not started.',
  },
  sweepDelay: {
    value: 2000,
    unit: 'ms',
    meaning: 'How long after the start processes are looked for that a killed server left behind.',
    beyond: 'They are looked for and killed.',
  },
  sweepBytes: {
    value: 4096,
    unit: 'bytes',
    meaning: "What is read of a process's surroundings to know whose it is: ours say it first.",
    beyond: 'The rest is not read.',
  },
});

/** Durations in milliseconds, sizes in bytes. */
export type FfmpegLimits = Readonly<Record<keyof typeof ffmpegLimitTable & string, number>>;

export const ffmpegLimits: FfmpegLimits = valuesOf(ffmpegLimitTable);
