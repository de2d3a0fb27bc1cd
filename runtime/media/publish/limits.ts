import { limitTable } from '../../../core/base/limit-table.ts';

/** What the media of a node keeps beside the streams themselves. */
export const mediaLimits = limitTable('media', {
  progressInterval: {
    value: 30_000,
    unit: 'ms',
    meaning: 'How often the figures of a running broadcast are written down.',
    beyond: 'After a crash the figures are those of the last time.',
  },
  beginning: {
    value: 1_048_576,
    unit: 'bytes',
    meaning:
      'What must be left of `hls.memory` for a broadcast to begin: it takes that before its first segment is whole.',
    beyond: 'A new broadcast is refused with `NetStream.Publish.Rejected`.',
  },
  viewerSlice: {
    value: 8000,
    unit: 'ms',
    meaning: 'Slice of time in which viewers are counted; three of them count at once.',
    beyond: 'A viewer who asked for nothing since is counted no more.',
  },
  delayLook: {
    value: 250,
    unit: 'ms',
    meaning: 'How often the process looks whether it was held up itself.',
    beyond: 'It looks again.',
  },
  delayTolerated: {
    value: 250,
    unit: 'ms',
    meaning: 'How late that look may be on a busy machine.',
    beyond: 'For as long as the delay was, no encoder is blamed for how its media arrives.',
  },
  delayExcused: {
    value: 5000,
    unit: 'ms',
    meaning: 'How long after a delay of the process itself no encoder is blamed, at most.',
    beyond: 'Broadcasts are judged again.',
  },
  idleBuffers: {
    value: 8 * 1_048_576,
    unit: 'bytes',
    meaning: 'Segment buffers kept for reuse.',
    beyond: 'Further ones are freed at once.',
  },
  closingsKept: {
    value: 30_000,
    unit: 'ms',
    meaning:
      'How long an order to close a publish that is not here is remembered. Longer than `authoriseTimeout`.',
    beyond: 'It is forgotten: that publish has ended.',
  },
  numbersKept: {
    value: 10_000,
    unit: 'playlists',
    meaning: 'Ended playlists whose last media sequence number is remembered, some hundred bytes each.',
    beyond: 'The oldest is forgotten: its numbers go on by the clock.',
  },
});
