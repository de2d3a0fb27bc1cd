import { setTimeout as sleep } from 'node:timers/promises';
import { broadcastCommand } from './broadcast-command.ts';
import type { Broadcast, BroadcastOptions } from './broadcast-options.ts';
import { loopOf } from './loop.ts';
import { pacer } from './pacer.ts';
import { type PublishEnd, type Publisher, PublishRefused, publish } from './publisher.ts';

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
  const { url, clip, chunkSize, retry, log } = options;
  const cursor = loopOf(clip, { startAt: options.startAt });
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
    const leave = pace.join(sender(publisher));
    const end = await publisher.closed;
    leave();
    return end;
  }

  function sender(publisher: Publisher): (now: number) => void {
    const { speed = 1, firstTimestamp = 0, onFrame, loop = true } = options;
    const { stats } = state;
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
}

if (import.meta.main) await broadcastCommand(process.argv.slice(2), { broadcast });
