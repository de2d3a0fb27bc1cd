import { limitTable } from '../../../core/base/limit-table.ts';

/** What pushes to servers that clients chose may take. */
export const pushLimits = limitTable('push', {
  queue: {
    value: 8 * 1_048_576,
    unit: 'bytes',
    meaning: 'What waits for one target.',
    beyond: 'Whole groups of pictures are left out, up to the newest key frame.',
    key: 'push.queue',
  },
  batch: {
    value: 100,
    unit: 'ms',
    meaning: 'How long media is gathered before it is written to a target.',
    beyond: 'It is written.',
    key: 'push.batch',
  },
  batchBytes: {
    value: 131_072,
    unit: 'bytes',
    meaning: 'Media gathered for a target; also the size of the buffers it is gathered in.',
    beyond: 'It is written at once. A larger picture gets a buffer of its own.',
  },
  stall: {
    value: 90_000,
    unit: 'ms',
    meaning: 'How long a target may take nothing of what waits for it.',
    beyond: 'Its connection is given up (`stalled`) and made anew.',
    key: 'push.stall',
  },
  retryFirst: {
    value: 1000,
    unit: 'ms',
    meaning: 'Wait before a target is tried again; twice as long after each attempt.',
    beyond: 'It is tried again.',
    key: 'push.retryFirst',
  },
  retryMost: {
    value: 60_000,
    unit: 'ms',
    meaning: 'Longest wait between two attempts.',
    beyond: 'It is tried again.',
    key: 'push.retryMost',
  },
  targets: {
    value: 1000,
    unit: 'targets',
    meaning: 'Targets that one node pushes to at one time.',
    beyond: 'Further ones fail (`full`) and are tried again.',
    key: 'push.targets',
  },
  beginnings: {
    value: 150,
    unit: 'pushes',
    meaning:
      'Pushes of one playlist that begin to connect at once, within `beginningsWindow`: those of all its targets, and changes of them.',
    beyond:
      'Further ones wait for `push.retryMost` before they connect, so that nobody is called every second by changing targets.',
  },
  beginningsWindow: {
    value: 60_000,
    unit: 'ms',
    meaning: 'The time in which these are counted.',
    beyond: 'Counting begins again.',
  },
  beginningsKept: {
    value: 10_000,
    unit: 'playlists',
    meaning: 'Playlists of which they are counted at one time.',
    beyond: 'Pushes of further ones wait in the same way.',
  },
  opening: {
    value: 60_000,
    unit: 'ms',
    meaning: 'How long connecting may take, whatever the protocol.',
    beyond: 'The attempt is given up (`timeout`).',
  },
  steady: {
    value: 60_000,
    unit: 'ms',
    meaning: 'How long a target must have been connected for its waits to begin with the first again.',
    beyond: 'They do.',
  },
  keptUp: {
    value: 10_000,
    unit: 'ms',
    meaning: 'How long a slow target must have kept up for it to be slow no more.',
    beyond: 'It is told when it is slow again.',
  },
  behind: {
    value: 1000,
    unit: 'ms',
    meaning: 'How long something may wait for a target that keeps up.',
    beyond: 'It does not keep up.',
  },
  look: {
    value: 500,
    unit: 'ms',
    meaning: 'How often the deadlines of all pushes are looked at.',
    beyond: 'They are looked at again.',
  },
  idleBuffers: {
    value: 32 * 1_048_576,
    unit: 'bytes',
    meaning: 'Buffers of pushes kept for reuse.',
    beyond: 'Further ones are freed at once.',
  },
});
