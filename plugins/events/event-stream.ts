import { every } from '../../core/base/timing.ts';
import { type EventFeed, isEndOfLog } from '../../core/plugin/events.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { LoggedEvent } from '../../core/ports/store.ts';
import { isWanted, type WantedEvents } from './wanted.ts';

/** Between two comment lines, ms: proxies cut silent streams. */
const heartbeat = 5000;
/** Characters that wait for a slow reader; beyond, the stream is cut and the client resumes from its `Last-Event-ID`. */
const maxBacklog = 1_048_576;
/** Events read from the log in one query of a replay, and about how many characters: they are held until the client reads them. */
const page = 500;
const pageCharacters = 262_144;
/** Bytes given to the connection ahead of its reader. */
const readAhead = 16_384;

/**
 * A server-sent event stream (WHATWG HTML §9.2) of one account's events: those after `from`, then new ones. None is left out
 * or sent twice in between.
 */
export function eventStream(options: EventStreamOptions): Response {
  const { feed, clock, account, signals, from } = options;
  const waiting: string[] = [];
  let backlog = 0;
  let isOver = false;
  let isLive = from === undefined;
  let hasMissed = false;
  // Position of the last replayed event; the feed may report it again.
  let replayed = from ?? 0;
  let wake = () => {};

  const write = (text: string) => {
    waiting.push(text);
    backlog += text.length;
    if (backlog > maxBacklog) end();
    wake();
  };
  const unsubscribe = feed.subscribe((event) => {
    // What comes during the replay is in the log: it is not buffered.
    if (!isLive) hasMissed = true;
    else if (event.position > replayed && isWanted(event, options)) write(textOf(event));
  });
  const stopBeating = every(heartbeat, { clock, work: () => write(stillHere) });
  const end = () => {
    if (isOver) return;
    isOver = true;
    stopBeating();
    unsubscribe();
    for (const signal of signals) signal.removeEventListener('abort', end);
    options.onEnd();
    wake();
  };
  for (const signal of signals) signal.addEventListener('abort', end);
  // A signal that was aborted before fires no event.
  if (signals.some(({ aborted }) => aborted)) end();

  /** As fast as the reader reads. */
  const texts = async function* (): AsyncGenerator<string> {
    yield ': connected\n\n';
    while (!isLive && !isOver) {
      hasMissed = false;
      const asked = { account, limit: page, characters: pageCharacters };
      const events = await feed.after(replayed, asked);
      // During the replay only heartbeats wait.
      if (waiting.length > 0) {
        waiting.length = 0;
        backlog = 0;
        yield stillHere;
      }
      for (const event of events) {
        if (isWanted(event, options)) yield textOf(event);
        replayed = event.position;
      }
      isLive = isEndOfLog(events, asked) && !hasMissed;
    }
    while (!isOver) {
      const text = waiting.shift();
      if (text === undefined) await new Promise<void>((resolve) => (wake = resolve));
      else {
        backlog -= text.length;
        yield text;
      }
    }
  };
  const encoder = new TextEncoder();
  const source = texts();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = isOver ? undefined : await source.next().catch(end);
        if (next?.value !== undefined && !isOver) controller.enqueue(encoder.encode(next.value));
        else controller.close();
      },
      cancel: end,
    },
    new ByteLengthQueuingStrategy({ highWaterMark: readAhead }),
  );
  return new Response(body, { headers: eventStreamHeaders });
}

/** A comment line: clients and proxies see that the connection is alive. */
const stillHere = ': still here\n\n';

function textOf({ id, type, body }: LoggedEvent): string {
  return `id: ${id}\nevent: ${type}\ndata: ${body}\n\n`;
}

export const eventStreamHeaders = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
};

interface EventStreamOptions extends WantedEvents {
  readonly feed: Pick<EventFeed, 'subscribe' | 'after' | 'position'>;
  readonly clock: Clock;
  /** Position after which to begin; undefined = from now on. */
  readonly from: number | undefined;
  /** The stream ends when one of these is aborted. */
  readonly signals: readonly AbortSignal[];
  onEnd(): void;
}
