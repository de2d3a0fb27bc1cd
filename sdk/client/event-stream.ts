import { MillraceError } from './error.ts';
import { type CallRequest, pause } from './request.ts';

/** An event of the account, as webhooks receive it too. */
export interface MillraceEvent {
  /** The same however often it is received. */
  readonly id: string;
  /** Such as `stream.started`. */
  readonly event: string;
  /** Epoch ms. */
  readonly createdAt: number;
  /** The stream that it is about, if it is about one. */
  readonly stream?: Readonly<Record<string, unknown>>;
  readonly payload?: Readonly<Record<string, unknown>>;
}

export interface EventOptions {
  /** Only events of this type. */
  readonly type?: string;
  /** Only events of this stream. */
  readonly streamId?: string;
  /** Start after this event; default: with what happens from now on. The server keeps events for 24 h. */
  readonly after?: string;
  /** Ends the iteration: it then throws the reason of the signal. */
  readonly signal?: AbortSignal;
}

/** Between a connection that was lost and the next one, ms. */
const reconnectAfter = 1000;
/** A connection without a byte for so long is dead, ms: the server sends a comment every 5 s. */
const longestSilence = 20_000;

/**
 * The events of an account as they happen, without an end. A lost connection is opened again, and continues after the last event. Throws
 * when the first connection fails, and a `MillraceError` whenever the server refuses, such as 410 `events.gone`.
 */
export async function* eventsOf(
  send: (call: CallRequest) => Promise<Response>,
  { after, signal, ...query }: EventOptions,
): AsyncGenerator<MillraceEvent, never> {
  let last = after;
  for (let hasConnected = false; ; ) {
    try {
      const response = await send({
        ...{ method: 'GET', path: '/api/events', query, signal },
        headers: { accept: 'text/event-stream', ...(last !== undefined && { 'last-event-id': last }) },
      });
      hasConnected = true;
      for await (const event of parsed(response)) {
        last = event.id;
        yield event;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (!hasConnected || (error instanceof MillraceError && error.status < 500)) throw error;
    }
    await pause(reconnectAfter, signal);
  }
}

/** Events of a stream of server-sent events (WHATWG HTML §9.2), of which only `data` matters here. */
async function* parsed({ body }: Response): AsyncGenerator<MillraceEvent> {
  if (!body) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await soon(reader.read());
      if (done) return;
      const blocks = (rest + value).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        const data = block.split('\n').filter((line) => line.startsWith('data:'));
        if (data.length > 0) yield JSON.parse(data.map((line) => line.slice(5)).join('\n'));
      }
    }
  } finally {
    // The caller may stop in the middle, and the server would go on.
    await reader.cancel().catch(() => {});
  }
}

/** Rejects when it takes too long. */
function soon<T>(reading: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('The event stream was silent.')), longestSilence);
    reading.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
