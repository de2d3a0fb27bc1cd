import type { Socket } from 'bun';
import { type AnswerTarget, writeAnswer } from './answer-writer.ts';
import { RequestBody } from './request-body.ts';
import { maxHead, methods, type RequestHead, requestHead } from './request-head.ts';
import type { Seated, Seats } from './seats.ts';
import type { Turns } from './turns.ts';
import type { Unanswered, UnansweredRequests } from './unanswered.ts';

/** What connections of one server have in common. */
export interface ConnectionContext {
  /** Requests under way in all connections. */
  pending: number;
  readonly unanswered: UnansweredRequests;
  readonly seats: Seats;
  /** Of requests that came behind others. */
  readonly turns: Turns;
  /** ms over which the speed of a reader is measured. */
  readonly slowWindow: number;
  answer(request: ServedRequest): Response | Promise<Response>;
  /** Answer to a head of whose host and path no URL can be made. */
  badAddress(): Response;
  failed(error: unknown): Response;
}

/** ms without a byte in or out. A blocked playlist reload may be silent for 12 s, an event stream for 5 s. */
const idle = 30_000;
/** Milliseconds in which a client may still send, so that it sees the answer before the connection ends. */
const lingering = 5000;
/** Bytes of further requests that wait for the answer to the one before them. */
const mostAhead = 65_536;
/** Bytes a second that a client must take while bytes wait for it. */
const leastTaken = 1024;
/** A body of up to so many bytes must be complete in time; of a longer one, or one in chunks, as many bytes must have come. */
const smallBody = 262_144;
/** That time, ms. What reads an upload has its own bound, which is lower. */
const bodyTime = 120_000;

/** One connection: reads requests, one behind the other, and writes their answers in the same order. */
export class Connection implements AnswerTarget, Seated {
  onLeft = () => {};
  isSpare = false;
  readonly #socket: Socket<Connection>;
  readonly #context: ConnectionContext;
  /** What came and belongs to no request yet. */
  #input: Buffer = empty;
  #state: 'idle' | 'busy' | 'ending' | 'closed' = 'idle';
  #request: ServedRequest | undefined;
  /** Of the request under way, until its answer begins. */
  #unanswered: Unanswered | undefined;
  #body: RequestBody | undefined;
  /** The body was malformed: its end is unknown, so no request after it is read. */
  #isSpoiled = false;
  #isPaused = false;
  #unsent: Uint8Array | undefined;
  #onSent: (isSent: boolean) => void = () => {};
  /** When a byte came or went. */
  #moved = performance.now();
  /** When the head that is incomplete began. */
  #headSince: number | undefined;
  /** When the request under way began. */
  #requestSince = 0;
  /** Since when bytes wait for the client, and how many it took since then. */
  #waiting: { since: number; taken: number } | undefined;
  /** When it is closed whatever the client does. */
  #end = Number.POSITIVE_INFINITY;

  constructor(socket: Socket<Connection>, context: ConnectionContext) {
    this.#socket = socket;
    this.#context = context;
  }

  get peer(): string | undefined {
    return this.#socket.remoteAddress;
  }

  /** Bytes from the client. */
  take(bytes: Buffer): void {
    this.#moved = performance.now();
    if (this.#state === 'ending' || this.#state === 'closed') return;
    let rest = bytes;
    if (this.#body && !this.#body.isComplete) {
      if (this.#isSpoiled) return;
      const taken = this.#body.take(bytes);
      if (taken === undefined) {
        this.#spoil();
        return;
      }
      rest = bytes.subarray(taken);
    }
    if (rest.length === 0) return;
    this.#input = this.#input.length === 0 ? rest : Buffer.concat([this.#input, rest]);
    if (this.#state === 'idle') this.#next();
    else if (this.#input.length > mostAhead) this.#flow(false);
  }

  write(bytes: Uint8Array): Promise<boolean> | boolean {
    if (this.#state === 'closed') return false;
    const sent = this.#send(bytes);
    if (sent >= bytes.length) return true;
    if (sent < 0) return false;
    this.#unsent = bytes.subarray(sent);
    this.#waiting ??= { since: performance.now(), taken: 0 };
    return new Promise((resolve) => {
      this.#onSent = resolve;
    });
  }

  /** The socket takes bytes again. */
  drain(): void {
    if (!this.#unsent) return;
    const sent = this.#send(this.#unsent);
    if (sent < 0) return;
    if (sent < this.#unsent.length) {
      this.#unsent = this.#unsent.subarray(sent);
      return;
    }
    this.#unsent = undefined;
    this.#onSent(true);
  }

  /** The connection is gone. */
  closed(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    const reason = new DOMException('The client has closed the connection.', 'AbortError');
    this.#request?.abort(reason);
    this.#body?.fail(reason);
    if (this.#unanswered) this.#context.unanswered.add(this.#unanswered);
    this.onLeft();
    this.#unsent = undefined;
    this.#onSent(false);
  }

  /** Ends a connection that is silent for too long, or whose client sends or reads too slowly. */
  check(now: number): void {
    // The system says that there is room only when a third of its buffer is free, which takes a slow client minutes.
    this.drain();
    if (this.#request?.isHeld) this.#moved = now;
    const isSilent = now - this.#moved > idle;
    const isSlow = this.#headSince !== undefined && now - this.#headSince > idle;
    if (isSilent && this.#unanswered) this.#context.unanswered.tell(this.#unanswered);
    if (isSilent || isSlow || this.#readsSlowly(now) || this.#sendsSlowly(now) || now > this.#end)
      this.terminate();
  }

  terminate(): void {
    this.#socket.terminate();
  }

  #readsSlowly(now: number): boolean {
    if (!this.#unsent) this.#waiting = undefined;
    const time = now - (this.#waiting?.since ?? now);
    if (!this.#waiting || time < this.#context.slowWindow) return false;
    if (this.#waiting.taken < (leastTaken * time) / 1000) return true;
    this.#waiting = { since: now, taken: 0 };
    return false;
  }

  #sendsSlowly(now: number): boolean {
    if (!this.#body || this.#body.isComplete || now - this.#requestSince < bodyTime) return false;
    return this.#body.received < smallBody && !this.#request?.isHeld;
  }

  /** Bytes that the system took; negative: the connection is gone. */
  #send(bytes: Uint8Array): number {
    const sent = this.#socket.write(bytes);
    if (sent <= 0) return sent;
    this.#moved = performance.now();
    if (this.#waiting) this.#waiting.taken += sent;
    return sent;
  }

  /** Begins with the next request, if all of its head is there. */
  #next(): void {
    if (this.#input[0] === 13 && this.#input[1] === 10) this.#input = this.#input.subarray(2);
    const end = this.#input.indexOf('\r\n\r\n');
    if (end < 0 || end > maxHead) {
      this.#headSince ??= this.#input.length > 0 ? performance.now() : undefined;
      const text = this.#input.toString('latin1', 0, maxHead);
      if (/(?:^|[^\r])\n/.test(text)) this.#refuse(400);
      else if (this.#input.length > maxHead) this.#refuse(text.includes('\r\n') ? 431 : 414);
      return;
    }
    this.#headSince = undefined;
    const head = requestHead(this.#input.toString('latin1', 0, end));
    if (typeof head === 'number') {
      this.#refuse(head);
      return;
    }
    this.#input = this.#input.subarray(end + 4);
    this.#state = 'busy';
    this.#context.seats.enter(this, 'busy');
    void this.#serve(head);
  }

  async #serve(head: RequestHead): Promise<void> {
    const context = this.#context;
    context.pending += 1;
    let unanswered: Unanswered | undefined;
    try {
      let answer: Response | Promise<Response>;
      try {
        answer = this.#ask(head);
        if (answer instanceof Promise) {
          const { method, url } = head;
          unanswered = { method, url, since: performance.now(), isAnswered: false, isGivenUp: false };
          this.#unanswered = unanswered;
          answer = await answer;
        }
      } catch (error) {
        answer = context.failed(error);
      }
      if (unanswered) unanswered.isAnswered = true;
      this.#unanswered = undefined;
      const isWholeRead = this.#body?.isComplete ?? true;
      const isLast = !head.isKeptAlive || !isWholeRead || this.isSpare;
      const { isHttp10, method } = head;
      const options = { target: this, isHttp10, isLast, isHead: method === 'HEAD' };
      if (!(await writeAnswer(answer, options))) this.#socket.terminate();
      else if (isLast) this.#finish();
      else this.#reuse();
    } finally {
      if (!unanswered?.isGivenUp) context.pending -= 1;
    }
  }

  #ask(head: RequestHead): Response | Promise<Response> {
    const context = this.#context;
    const { method, headers, url } = head;
    const body = head.body === 0 ? undefined : this.#bodyOf(head);
    // Host and path make no URL. Bun takes some of them for one, and whatever is made of them fails.
    if (!URL.canParse(url)) return context.badAddress();
    this.#request = new ServedRequest(url, { method, headers, body }, this);
    return context.answer(this.#request);
  }

  /** The body as it came with the head, or a stream of what is to come. */
  #bodyOf({ body: framing, isExpecting }: Pick<RequestHead, 'body' | 'isExpecting'>): BodyInit {
    if (framing !== 'chunked' && this.#input.length >= framing) {
      const bytes = this.#input.subarray(0, framing);
      this.#input = this.#input.subarray(framing);
      return bytes as Uint8Array<ArrayBuffer>;
    }
    if (framing !== 'chunked' && framing <= smallBody) this.#context.seats.enter(this, 'unfinished');
    this.#requestSince = performance.now();
    const body = new RequestBody({
      framing,
      onComplete: () => this.#context.seats.enter(this, 'busy'),
      onRead: () => {
        if (isExpecting && !body.isComplete && this.#state === 'busy') this.#socket.write(goOn);
      },
      onFlow: (isOpen) => this.#flow(isOpen),
    });
    this.#body = body;
    const input = this.#input;
    this.#input = empty;
    if (input.length > 0) this.take(input);
    return body.stream;
  }

  /** Chunks that are none: nothing behind them can be found. */
  #spoil(): void {
    this.#isSpoiled = true;
    this.#body?.fail(new TypeError('The body is not framed as HTTP/1.1 wants it.'));
    this.#body?.drop();
    this.#input = empty;
  }

  /** The answer was written, and the connection waits for the next request, or has it already. */
  #reuse(): void {
    if (this.#state !== 'busy') return;
    this.#state = 'idle';
    this.#request = undefined;
    this.#body = undefined;
    this.#context.seats.enter(this, 'idle');
    this.#flow(true);
    if (this.#input.length > 0) this.#context.turns.add(() => this.#go());
  }

  /** The turn of a request that came behind another; what came since then may have begun it. */
  #go(): void {
    if (this.#state === 'idle' && this.#input.length > 0) this.#next();
  }

  /** Nothing more is sent. What the client still sends is read for a while: closed now, it might lose the answer (RFC 9112 §9.6). */
  #finish(): void {
    if (this.#state === 'closed') return;
    const isWholeRead = this.#input.length === 0 && (this.#body?.isComplete ?? true);
    this.#state = 'ending';
    this.#request = undefined;
    this.#end = performance.now() + lingering;
    this.#body?.drop();
    this.#input = empty;
    if (isWholeRead) this.#socket.end();
    else this.#socket.shutdown();
  }

  #refuse(status: number): void {
    this.#headSince = undefined;
    this.#state = 'busy';
    const headers = new Headers(status === 405 ? { allow: [...methods].join(', ') } : undefined);
    const answer = new Response(null, { status, headers });
    const options = { target: this, isHead: false, isHttp10: false, isLast: true };
    void writeAnswer(answer, options).then(() => this.#finish());
  }

  #flow(isOpen: boolean): void {
    if (this.#isPaused !== isOpen || this.#state === 'closed') return;
    this.#isPaused = !isOpen;
    if (isOpen) this.#socket.resume();
    else this.#socket.pause();
  }
}

const empty = Buffer.alloc(0);
const goOn = Buffer.from('HTTP/1.1 100 Continue\r\n\r\n');

/**
 * A request of a connection of ours. Its signal is aborted when the client leaves before it has the whole answer; it is made when a
 * handler asks for it, because one for each request is a tenth of what a playlist costs.
 */
export class ServedRequest extends Request {
  /** Silence does not end the connection (`core/http/hold.ts`). */
  isHeld = false;
  /** Another node of this deployment asks (`runtime/nodes/node-gate.ts`). */
  isOfNode = false;
  readonly #connection: Seated;
  #abort: AbortController | undefined;
  #reason: Error | undefined;

  constructor(url: string, init: RequestInit, connection: Seated) {
    super(url, init);
    this.#connection = connection;
  }

  get connection(): Seated {
    return this.#connection;
  }

  /** The client's address, without port; undefined when it has left. */
  get peer(): string | undefined {
    return this.#connection.peer;
  }

  override get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.#reason) this.#abort.abort(this.#reason);
    }
    return this.#abort.signal;
  }

  abort(reason: Error): void {
    this.#reason = reason;
    this.#abort?.abort(reason);
  }
}
