import type { EventFeed } from '../../core/events.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { LoggedEvent } from '../../core/ports/store.ts';

/** A comment line this often keeps proxies and the server's own idle timeout from cutting the stream, ms. */
const heartbeat = 5000;
/** Text waiting for a slow reader, bytes; beyond it the stream is cut, and the reader asks from its last id. */
const maxBacklog = 1_048_576;
const page = 500;

/**
 * A server-sent event stream (WHATWG HTML §9.2) of one account's events: what came after `from`, then what
 * happens. Nothing is left out or sent twice in between.
 */
export function eventStream(options: EventStreamOptions): Response {
  const { feed, clock, from } = options;
  const encoder = new TextEncoder();
  let end = () => {};

  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        let isOver = false;
        let sent = from ?? 0;
        // Until the replay is done, live events wait here: they may be in the log already.
        let early: LoggedEvent[] | undefined = from === undefined ? undefined : [];
        let cancelBeat = () => {};

        const write = (text: string) => {
          if (isOver) return;
          controller.enqueue(encoder.encode(text));
          if ((controller.desiredSize ?? 0) < -maxBacklog) end();
        };
        const send = (event: LoggedEvent) => {
          if (event.position <= sent) return;
          sent = event.position;
          if (isWanted(event, options))
            write(`id: ${event.id}\nevent: ${event.type}\ndata: ${event.body}\n\n`);
        };
        const unsubscribe = feed.subscribe((event) => (early ? early.push(event) : send(event)));
        const beat = () => {
          cancelBeat = clock.at(clock.now() + heartbeat, () => {
            write(': still here\n\n');
            if (!isOver) beat();
          });
        };
        end = () => {
          if (isOver) return;
          isOver = true;
          cancelBeat();
          unsubscribe();
          for (const signal of options.signals) signal.removeEventListener('abort', end);
          options.onEnd();
          try {
            controller.close();
          } catch {
            // The reader has gone already.
          }
        };
        for (const signal of options.signals) signal.addEventListener('abort', end);

        write(': connected\n\n');
        beat();
        if (from === undefined) return;
        replay(feed, { account: options.account, from, send, isOver: () => isOver })
          .then(() => {
            for (const event of early ?? []) send(event);
            early = undefined;
          })
          .catch(() => end());
      },
      cancel: () => end(),
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 16_384 }),
  );
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
  });
}

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

async function replay(
  feed: EventFeed,
  options: { account: string; from: number; send: (event: LoggedEvent) => void; isOver: () => boolean },
): Promise<void> {
  let position = options.from;
  while (!options.isOver()) {
    const events = await feed.after(position, { account: options.account, limit: page });
    for (const event of events) options.send(event);
    const last = events.at(-1);
    if (!last || events.length < page) return;
    position = last.position;
  }
}
