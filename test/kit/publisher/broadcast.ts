import { setTimeout as sleep } from 'node:timers/promises';
import type { Clip } from './flv-file.ts';
import { type ClipLoop, loopOf } from './loop.ts';
import { type Pacer, pacer } from './pacer.ts';
import { type PublishEnd, type Publisher, PublishRefused, publish } from './publisher.ts';

export interface BroadcastOptions {
  /** `rtmp://host:port/app/key`. */
  url: string;
  clip: Clip;
  /** Default true. Otherwise it ends cleanly after the clip. */
  loop?: boolean;
  /** Where in the clip to begin, in milliseconds; the next key frame is taken. Default 0. */
  startAt?: number;
  /** RTMP timestamp of each connection's first tag. Default 0. */
  firstTimestamp?: number;
  /** 2 sends twice as fast as real time. Default 1. */
  speed?: number;
  /** Connect again after a lost connection, with growing waits. A refusal ends the broadcast all the same. */
  retry?: boolean | { firstMs?: number; maxMs?: number };
  chunkSize?: number;
  pacer?: Pacer;
  /** Plain lines for people, without the key. */
  log?: (line: string) => void;
  /**
   * For each picture as it is handed to the network, in decoding order: its number counted on over loops
   * (the picture shows it modulo `clip.frames`), its RTMP timestamp, and the wall clock in milliseconds.
   */
  onFrame?: (frame: number, timestamp: number, sentAtEpochMs: number) => void;
}

export interface Broadcast {
  /** The server accepted the first publish. Rejects when the broadcast ends without that. */
  readonly started: Promise<void>;
  /** Why it is over; never rejects. */
  readonly ended: Promise<PublishEnd>;
  /** Counts so far. `dropped`: tags the network was too slow for. */
  readonly stats: { tags: number; bytes: number; dropped: number; connections: number };
  stop(options: { clean: boolean }): Promise<void>;
}

/**
 * Sends a clip to an RTMP server in real time, over and over, as an encoder would. Every connection begins
 * with the headers and a key frame and counts its timestamps from `firstTimestamp`; after a lost connection
 * the clip goes on at the next key frame. Many broadcasts may share one clip and one pacer.
 */
export function broadcast(options: BroadcastOptions): Broadcast {
  const started = Promise.withResolvers<void>();
  started.promise.catch(() => {});
  const stopping = new AbortController();
  const state: State = {
    publisher: undefined,
    isClean: true,
    stats: { tags: 0, bytes: 0, dropped: 0, connections: 0 },
  };
  const ended = run(options, { state, signal: stopping.signal, onStart: started.resolve });
  void ended.then((end) => started.reject(end.code ? new PublishRefused(end.code) : new Error(end.message)));
  return {
    started: started.promise,
    ended,
    stats: state.stats,
    async stop({ clean }) {
      state.isClean = clean;
      stopping.abort();
      await state.publisher?.close({ clean });
      await ended;
    },
  };
}

interface State {
  publisher: Publisher | undefined;
  isClean: boolean;
  stats: Broadcast['stats'];
}

async function run(
  options: BroadcastOptions,
  { state, signal, onStart }: { state: State; signal: AbortSignal; onStart: () => void },
): Promise<PublishEnd> {
  const { url, chunkSize, retry, log } = options;
  const cursor = loopOf(options.clip, { startAt: options.startAt });
  const pace = options.pacer ?? pacer();
  const { firstMs = 500, maxMs = 4000 } = typeof retry === 'object' ? retry : {};
  let wait = firstMs;
  for (;;) {
    const end = await connect();
    if (signal.aborted) return { cause: 'closed', message: 'stopped' };
    if (!retry || end.cause === 'refused' || end.cause === 'closed') return end;
    log?.(`${end.message}; trying again in ${wait / 1000} s`);
    // An abort ends the wait early and is seen above.
    await sleep(wait, undefined, { signal }).catch(() => {});
    if (signal.aborted) return { cause: 'closed', message: 'stopped' };
    wait = Math.min(wait * 2, maxMs);
  }

  async function connect(): Promise<PublishEnd> {
    let publisher: Publisher;
    try {
      publisher = await publish({ url, chunkSize, signal });
    } catch (error) {
      const { message } = error as Error;
      return error instanceof PublishRefused
        ? { cause: 'refused', code: error.code, message }
        : { cause: 'error', message };
    }
    state.publisher = publisher;
    state.stats.connections += 1;
    wait = firstMs;
    // A stop that came while the server was answering found no publisher to close.
    if (signal.aborted) await publisher.close({ clean: state.isClean });
    onStart();
    log?.('on air');
    const leave = pace.join(sender(publisher, { options, cursor, stats: state.stats }));
    const end = await publisher.closed;
    leave();
    return end;
  }
}

/** Sends what is due, each time that it is called with the clock. */
function sender(
  publisher: Publisher,
  { options, cursor, stats }: { options: BroadcastOptions; cursor: ClipLoop; stats: Broadcast['stats'] },
): (now: number) => void {
  const { clip, speed = 1, firstTimestamp = 0, onFrame, loop = true } = options;
  const startedAt = performance.now();
  if (clip.metadata) publisher.sendMetadata(clip.metadata);
  if (clip.videoHeader) publisher.sendVideo(clip.videoHeader, firstTimestamp);
  if (clip.audioHeader) publisher.sendAudio(clip.audioHeader, firstTimestamp);
  cursor.seekKey();
  const base = cursor.position;
  let isWaitingForKey = false;
  let isDone = false;
  return (now) => {
    const until = base + (now - startedAt) * speed;
    while (cursor.position <= until && !isDone) {
      if (!loop && cursor.loops > 0) {
        isDone = true;
        void publisher.close({ clean: true });
        return;
      }
      const { tag } = cursor;
      const timestamp = (cursor.position - base + firstTimestamp) % 2 ** 32;
      const isVideo = tag.type === 'video';
      if (isVideo && tag.isKey) isWaitingForKey = false;
      // After a lost picture those that build on it are of no use.
      const isTaken = isVideo
        ? !isWaitingForKey && publisher.sendVideo(tag.body, timestamp)
        : publisher.sendAudio(tag.body, timestamp);
      if (isTaken) {
        stats.tags += 1;
        stats.bytes += tag.body.length;
        if (isVideo) onFrame?.(cursor.frame, timestamp, performance.timeOrigin + performance.now());
      } else {
        stats.dropped += 1;
        if (isVideo) isWaitingForKey = true;
      }
      cursor.advance();
    }
  };
}
