import { inspect } from 'node:util';

/** An event as `GET /api/events` shows it. */
export interface ServerEvent {
  id: string;
  event: string;
  /** Epoch milliseconds. */
  timestamp: number;
  stream?: { id: string; name: string; isActive: boolean };
  payload?: unknown;
}

interface Expectation {
  matches: (event: ServerEvent) => boolean;
  resolve: (event: ServerEvent) => void;
}

/**
 * Follows the event stream from the moment `openEvents` answers. It reconnects with `Last-Event-ID`, so a restart of
 * the server does not blind it.
 */
export interface Events {
  /** All that came, in order. */
  readonly seen: readonly ServerEvent[];
  /** Names of the events of one stream, in order. */
  namesOf(streamId: string): string[];
  /** The next event of this name. Arm it before what causes it; `within` ms count from here. */
  expect(name: string, options: { within: number; streamId?: string }): Promise<ServerEvent>;
  close(): void;
}

export async function openEvents(url: string, options: { key: string }): Promise<Events> {
  const seen: ServerEvent[] = [];
  const expectations = new Set<Expectation>();
  const closing = new AbortController();
  let lastId: string | undefined;

  const take = (event: ServerEvent) => {
    seen.push(event);
    for (const expectation of [...expectations]) if (expectation.matches(event)) expectation.resolve(event);
  };
  const connect = async () => {
    const response = await fetch(`${url}/api/events`, {
      headers: {
        authorization: `Bearer ${options.key}`,
        accept: 'text/event-stream',
        ...(lastId && { 'last-event-id': lastId }),
      },
      signal: closing.signal,
    });
    if (!response.ok || !response.body) {
      throw new Error(`GET /api/events: ${response.status} ${await response.text()}`);
    }
    return response.body;
  };
  const follow = async (first: ReadableStream<Uint8Array>) => {
    for (let body: ReadableStream<Uint8Array> | null = first; !closing.signal.aborted; ) {
      try {
        body ??= await connect();
        for await (const message of readMessages(body)) {
          lastId = message.id ?? lastId;
          take(JSON.parse(message.data) as ServerEvent);
        }
      } catch {
        // The server is away, or `close` was called: the loop decides.
      }
      body = null;
      if (!closing.signal.aborted) await Bun.sleep(100);
    }
  };
  void follow(await connect());

  return {
    seen,
    namesOf: (streamId) => seen.filter((event) => event.stream?.id === streamId).map((event) => event.event),
    expect(name, { within, streamId }) {
      const promise = new Promise<ServerEvent>((resolve, reject) => {
        const expectation: Expectation = {
          matches: (event) => event.event === name && (!streamId || event.stream?.id === streamId),
          resolve: (event) => {
            clearTimeout(timer);
            expectations.delete(expectation);
            resolve(event);
          },
        };
        const timer = setTimeout(() => {
          expectations.delete(expectation);
          const names = seen.map((event) => `${event.event} of ${event.stream?.id ?? '–'}`);
          reject(
            new Error(
              `waited ${within} ms for ${name} of ${streamId ?? 'any stream'}; seen: ${inspect(names)}`,
            ),
          );
        }, within);
        expectations.add(expectation);
      });
      // Armed early and awaited later: until then a failure is nobody's unhandled rejection.
      promise.catch(() => {});
      return promise;
    },
    close: () => closing.abort(),
  };
}

/** Server-sent events (WHATWG HTML, 9.2): what has data; comments are skipped. */
async function* readMessages(body: ReadableStream<Uint8Array>) {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const blocks = (rest + decoder.decode(chunk, { stream: true })).replaceAll('\r\n', '\n').split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = block.split('\n').map((line) => /^([^:]+): ?(.*)$/.exec(line) ?? []);
      const valuesOf = (name: string) => fields.filter((field) => field[1] === name).map((field) => field[2]);
      const data = valuesOf('data').join('\n');
      if (data) yield { id: valuesOf('id').at(-1), data };
    }
  }
}
