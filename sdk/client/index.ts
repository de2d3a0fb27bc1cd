/**
 * `millrace/client`: calls a Millrace server, typed by its OpenAPI document. For Node 20, Bun, Deno and browsers; no dependencies.
 */
import { type Api, type ListName, operations } from './api.ts';
import { type EventOptions, eventsOf, type MillraceEvent } from './event-stream.ts';
import { type CallRequest, type ClientOptions, sender } from './request.ts';

export type * from './api.ts';
export { MillraceError } from './error.ts';
export type { EventOptions, MillraceEvent } from './event-stream.ts';
export type { CallRequest, ClientOptions } from './request.ts';

/** The calls of the API, and what goes beyond one call. */
export interface Client extends Api {
  /** All pages of a list, one after another: `for await (const streams of client.pages('listStreams'))`. */
  pages<N extends ListName>(
    list: N,
    call?: Parameters<Api[N]>[0],
  ): AsyncGenerator<Awaited<ReturnType<Api[N]>>>;
  /** The events of the account as they happen. It reconnects, and continues after the last event. */
  events(options?: EventOptions): AsyncGenerator<MillraceEvent, never>;
  /** A route that the types do not know, such as one of a plugin. Rejects as all calls do. */
  request(call: CallRequest): Promise<Response>;
}

/** A client of the server at `baseUrl`. */
export function millrace(options: ClientOptions): Client {
  const send = sender(options);
  const calls = Object.entries(operations as Readonly<Record<string, Operation>>).map(([name, operation]) => [
    name,
    async (call: Given = {}) => answerOf(await send(requestOf(operation, call))),
  ]);
  return {
    ...(Object.fromEntries(calls) as Api),
    request: send,
    events: (of = {}) => eventsOf(send, of),
    async *pages(list, call) {
      let next: CallRequest | undefined = requestOf(operations[list], (call ?? {}) as Given);
      while (next) {
        const response: Response = await send(next);
        yield await response.json();
        next = nextPage(next, response.headers.get('link'));
      }
    },
  };
}

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly isOnce?: true;
}

/** What a call is given: path parameters by name, and these. */
interface Given extends Pick<CallRequest, 'query' | 'body' | 'headers' | 'idempotencyKey' | 'signal'> {
  readonly [parameter: string]: unknown;
}

function requestOf({ method, path, isOnce }: Operation, given: Given): CallRequest {
  const { query, body, headers, signal, idempotencyKey = isOnce && newKey() } = given;
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = given[name];
    // `undefined` in a path would be an object of that name.
    if (typeof value !== 'string' || value === '') throw new TypeError(`${name}: expected a text`);
    return encodeURIComponent(value);
  });
  return { method, path: filled, query, body, headers, signal, ...(idempotencyKey && { idempotencyKey }) };
}

/** 128 random bits. `crypto.randomUUID` is only there for pages of https. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The next page has the address of `Link`; its host is the one that the client was given. */
function nextPage(call: CallRequest, link: string | null): CallRequest | undefined {
  const [, address] = /<([^>]+)>; *rel="next"/.exec(link ?? '') ?? [];
  if (address === undefined) return undefined;
  const { searchParams } = new URL(address, 'http://server.invalid');
  return { ...call, query: Object.fromEntries(searchParams) };
}

async function answerOf(response: Response): Promise<unknown> {
  return response.status === 204 ? undefined : response.json();
}
