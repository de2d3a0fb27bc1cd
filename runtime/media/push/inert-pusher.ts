import type { Pusher } from '../../../core/ports/pusher.ts';

/** Pushes nothing anywhere, for as long as there is nothing that does. */
export function inertPusher(): Pusher {
  return {
    tell: () => {},
    want: () => {},
    readings: () => [],
    totals: () => ({ connected: 0, connecting: 0, sentBytes: 0, droppedFrames: 0, troubles: {} }),
    close: () => {},
  };
}
