import { every } from '../../core/base/timing.ts';
import type { EventFeed } from '../../core/plugin/events.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { LoggedEvent } from '../../core/ports/store.ts';

/** Between two comment lines, ms: proxies cut silent streams. */
const heartbeat = 5000;
/** Bytes that wait for a slow reader; beyond, the stream is cut and the client resumes from its `Last-Event-ID`. */
const maxBacklog = 1_048_576;
/** Events read from the log in one query of a replay. */
const page = 500;
/** Bytes given to the connection ahead of its reader during a replay. */
const readAhead = 16_384;

/**
 * A server-sent event stream (WHATWG HTML §9.2) of one account's events: those after `from`, then new ones. None is left out
 * or sent twice in between.
 */
export function eventStream(options: EventStreamOptions): Response {
  const { feed, clock, from } = options;
  const encoder = new TextEncoder();
  let end = () => {};
  let onPull = () => {};

  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        let isOver = false;
        let isLive = from === undefined;
        let hasMissed = false;
        // Position of the last replayed event; the feed may report it again.
        let replayed = from ?? 0;
        let stopBeating = () => {};

        const write = (text: string) => {
          if (isOver) return;
          controller.enqueue(encoder.encode(text));
          if ((controller.desiredSize ?? 0) < -maxBacklog) end();
        };
        const send = (event: LoggedEvent) => {
          if (!isWanted(event, options)) return;
          write(`id: ${event.id}\nevent: ${event.type}\ndata: ${event.body}\n\n`);
        };
        const unsubscribe = feed.subscribe((event) => {
          if (!isLive) hasMissed = true;
          else if (event.position > replayed) send(event);
        });
        end = () => {
          if (isOver) return;
          isOver = true;
          stopBeating();
          unsubscribe();
          for (const signal of options.signals) signal.removeEventListener('abort', end);
          options.onEnd();
          onPull();
          try {
            controller.close();
          } catch {
            // The reader has gone already.
          }
        };
        const hasRoom = async () => {
          while (!isOver && (controller.desiredSize ?? 0) <= 0) {
            await new Promise<void>((resolve) => {
              onPull = resolve;
            });
          }
        };
        /** As fast as the reader reads. New events are in the log meanwhile, so none is buffered. */
        const replay = async () => {
          while (!isOver && !isLive) {
            hasMissed = false;
            const events = await feed.after(replayed, { account: options.account, limit: page });
            for (const event of events) {
              await hasRoom();
              send(event);
              replayed = event.position;
            }
            isLive = events.length < page && !hasMissed;
          }
        };
        for (const signal of options.signals) signal.addEventListener('abort', end);

        write(': connected\n\n');
        stopBeating = every(heartbeat, { clock, work: () => write(': still here\n\n') });
        // A signal that was aborted before fires no event.
        if (options.signals.some(({ aborted }) => aborted)) end();
        replay().catch(() => end());
      },
      pull: () => onPull(),
      cancel: () => end(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: readAhead }),
  );
  return new Response(body, { headers: eventStreamHeaders });
}

export const eventStreamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
};

interface EventStreamOptions {
  readonly feed: EventFeed;
  readonly clock: Clock;
  readonly account: string;
  /** Only events of this type or stream; null = all. */
  readonly type: string | null;
  readonly streamId: string | null;
  /** Position after which to begin; undefined = from now on. */
  readonly from: number | undefined;
  /** The stream ends when one of these is aborted. */
  readonly signals: readonly AbortSignal[];
  onEnd(): void;
}

function isWanted(event: LoggedEvent, options: EventStreamOptions): boolean {
  return (
    event.account === options.account &&
    (options.type === null || options.type === event.type) &&
    (options.streamId === null || options.streamId === event.stream)
  );
}
