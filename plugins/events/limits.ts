import { limitTable } from '../../core/base/limit-table.ts';

export const eventStreamLimits = limitTable('events', {
  heartbeat: {
    value: 5000,
    unit: 'ms',
    meaning: 'How often a comment line goes out, so that no proxy cuts a silent stream.',
    beyond: 'The next comment line.',
  },
  backlog: {
    value: 1_048_576,
    unit: 'bytes',
    meaning: 'Text that waits for one slow reader.',
    beyond: 'The stream is cut; the reader asks again from its `Last-Event-ID`.',
  },
  page: {
    value: 500,
    unit: 'events',
    meaning: 'Events read from the log in one go for a replay.',
    beyond: 'The next go, when the reader has room.',
  },
  readAhead: {
    value: 16_384,
    unit: 'bytes',
    meaning: 'Text given to the connection ahead of its reader while events are replayed.',
    beyond: 'The replay waits for the reader.',
  },
});
