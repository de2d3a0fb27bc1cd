import { useEffect, useRef } from 'preact/hooks';
import { serverNow } from './clock.js';

/** What has to happen until somebody watches, in this order. */
export const stages = ['connected', 'keyFrame', 'playable', 'viewer'];

/**
 * When each stage of a broadcast was first seen, epoch ms; undefined: not yet. Starts anew with the next broadcast.
 *
 * - `own`: whether the picture of this page is among the viewers that the server counts.
 */
export function useArrival({ stream, points }, { own }) {
  const seen = useRef({});
  const before = useRef();
  const id = stream?.id;
  const last = points.at(-1);
  useEffect(() => {
    seen.current = {};
    before.current = undefined;
  }, [id]);
  if (!stream || (before.current && before.current.id !== id)) return {};
  // What was there when the page opened is an earlier broadcast, unless it is on the air.
  before.current ??= { id, time: last?.time, lastSeen: stream.lastSeen, hasBeenActive: false };
  const base = before.current;
  const isNew = (last?.time ?? 0) > (base.time ?? 0);
  const reached = reachedBy({ stream, last: isNew ? last : undefined, base, own });
  if (stream.isActive) base.hasBeenActive = true;
  else if (base.hasBeenActive) {
    // It is over: the next connection begins from the start.
    before.current = { id, time: last?.time, lastSeen: stream.lastSeen, hasBeenActive: false };
    seen.current = { over: serverNow() };
    return seen.current;
  }
  if (reached.connected && seen.current.over) seen.current = {};
  for (const stage of stages) if (reached[stage]) seen.current[stage] ??= serverNow();
  return seen.current;
}

function reachedBy({ stream, last, base, own }) {
  const { isActive, lastSeen = 0, viewerCount = 0 } = stream;
  const keyFrame = isActive || (last?.keyFrameInterval ?? 0) > 0;
  return {
    connected: keyFrame || last !== undefined || lastSeen > (base.lastSeen ?? 0),
    keyFrame,
    playable: isActive,
    viewer: isActive && viewerCount > (own ? 1 : 0),
  };
}
