import { every } from '../../core/base/timing.ts';
import type { EventFeed } from '../../core/plugin/events.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { LoggedEvent } from '../../core/ports/store.ts';
import { eventStreamLimits } from './limits.ts';

const heartbeat = eventStreamLimits.heartbeat.value;
const maxBacklog = eventStreamLimits.backlog.value;
const page = eventStreamLimits.page.value;

/**
 * A server-sent event stream (WHATWG HTML §9.2) of one account's events: what came after `from`, then what
 * happens. Nothing is left out or sent twice in between.
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
        // Place of the last event that was replayed; the feed may tell of it again.
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
        /** As fast as the reader reads. What happens meanwhile is in the log, so nothing is kept for later. */
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
        // An abort that came before anybody listened for it is not told again.
        if (options.signals.some(({ aborted }) => aborted)) end();
        replay().catch(() => end());
      },
      pull: () => onPull(),
      cancel: () => end(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: eventStreamLimits.readAhead.value }),
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
