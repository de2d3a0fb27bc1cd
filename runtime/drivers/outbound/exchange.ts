import type { Clock } from '../../../core/ports/clock.ts';
import {
  failure,
  type OutboundFailure,
  type OutboundRequest,
  type OutboundSource,
} from '../../../core/ports/outbound.ts';
import { type AnswerHead, AnswerParser } from './answer-parser.ts';
import type { Connection } from './connection.ts';
import type { OutboundLimits } from './limits.ts';
import { isSource, requestHead } from './request-head.ts';
import type { Target } from './target.ts';

/** Longest silence, ms, within a request that names no time of its own. */
const defaultIdleTimeout = 10_000;
/** Received bytes of a stream that nobody has read yet; beyond, the peer has to wait. */
const mostUnread = 256 * 1024;

export interface ExchangeHead extends AnswerHead {
  readonly ok: true;
}

interface ExchangeOptions {
  readonly to: Target;
  readonly request: OutboundRequest;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly limits: Pick<OutboundLimits, 'continueTimeout'>;
  /** The connection can carry another request. */
  onFree(connection: Connection): void;
}

/** One request and its answer on one connection. */
export class Exchange {
  /** Of the answer, or why there is none. */
  readonly head: Promise<ExchangeHead | OutboundFailure>;
  readonly #connection: Connection;
  readonly #options: ExchangeOptions;
  readonly #idleTimeout: number;
  readonly #parser: AnswerParser;
  readonly #headed = Promise.withResolvers<ExchangeHead | OutboundFailure>();
  readonly #chunks: Buffer[] = [];
  #unread = 0;
  #isPaused = false;
  #failed: OutboundFailure | undefined;
  #head: ExchangeHead | undefined;
  #hasAnswer = false;
  #isSent = false;
  #isOver = false;
  #lastActive: number;
  #cancelTimer = () => {};
  #onRead = () => {};
  #onDrain = () => {};
  #stopSource = () => {};
  #onWanted = () => {};

  constructor(connection: Connection, options: ExchangeOptions) {
    const { request, signal, clock } = options;
    this.#connection = connection;
    this.#options = options;
    this.#idleTimeout = request.idleTimeout ?? defaultIdleTimeout;
    this.#lastActive = clock.now();
    this.head = this.#headed.promise;
    this.#parser = new AnswerParser(
      {
        interim: (status) => status === 100 && this.#onWanted(),
        head: (parsed) => this.#begin(parsed),
        body: (bytes) => this.#take(bytes),
      },
      { isHead: request.method === 'HEAD' },
    );
    connection.give({
      data: (bytes) => this.#data(bytes),
      ended: () => this.#ended(),
      drained: () => {
        this.#active();
        this.#onDrain();
      },
    });
    signal.addEventListener('abort', this.#onAbort);
    this.#watchIdle();
    if (signal.aborted) this.#onAbort();
    else void this.#send();
  }

  /** The next bytes of the body, undefined at its end. One call at a time. */
  async read(): Promise<Buffer | OutboundFailure | undefined> {
    while (this.#chunks.length === 0 && !this.#isOver) {
      await new Promise<void>((resolve) => {
        this.#onRead = resolve;
      });
    }
    const bytes = this.#chunks.shift();
    if (!bytes) return this.#failed;
    this.#unread -= bytes.length;
    if (this.#isPaused && !this.#isOver && this.#unread < mostUnread / 2) {
      this.#isPaused = false;
      this.#active();
      this.#connection.resume();
    }
    return bytes;
  }

  /** The rest is not wanted: the connection is closed, unless all has come. */
  discard(): void {
    this.#chunks.length = 0;
    this.#over();
  }

  /** Whether anything of an answer has arrived. */
  get hasAnswer(): boolean {
    return this.#hasAnswer;
  }

  /** Of an answer that was read to its end. */
  get trailers(): Readonly<Record<string, string>> {
    return this.#parser.trailers;
  }

  #begin(parsed: AnswerHead): void {
    this.#head = { ok: true, ...parsed };
    this.#headed.resolve(this.#head);
    this.#onWanted();
  }

  #take(bytes: Buffer): void {
    this.#chunks.push(bytes);
    this.#unread += bytes.length;
    if (this.#unread > mostUnread && !this.#isPaused) {
      this.#isPaused = true;
      this.#connection.pause();
    }
    this.#onRead();
  }

  #data(bytes: Buffer): void {
    this.#hasAnswer = true;
    this.#active();
    const wrong = this.#parser.push(bytes);
    // A complete answer counts, whatever is behind it: only the connection is not used again.
    if (wrong !== undefined && !this.#parser.isDone) {
      this.#fail(failure('protocol', `${this.#options.to.origin}: ${wrong}`));
      return;
    }
    // A peer that refuses while it is still sent to does not want the rest.
    if (this.#head && this.#head.status >= 300 && !this.#isSent) this.#onDrain();
    if (this.#parser.isDone) this.#over();
  }

  #ended(): void {
    const wrong = this.#parser.end();
    if (wrong === undefined) this.#over();
    else this.#fail(failure('closed', `${this.#options.to.origin}: ${wrong}`));
  }

  #active(): void {
    this.#lastActive = this.#options.clock.now();
  }

  #watchIdle(): void {
    const { clock, to } = this.#options;
    this.#cancelTimer = clock.at(this.#lastActive + this.#idleTimeout, () => {
      // A reader that takes its time is not the peer's silence.
      if (this.#isPaused) this.#active();
      if (clock.now() - this.#lastActive < this.#idleTimeout) return this.#watchIdle();
      this.#fail(failure('timeout', `${to.origin} was silent for ${this.#idleTimeout} ms`));
    });
  }

  /** Whatever happens, exactly once: the connection is given on or closed, nothing of this hears of it any more. */
  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelTimer();
    this.#options.signal.removeEventListener('abort', this.#onAbort);
    this.#connection.give(undefined);
    if (this.#failed === undefined && this.#parser.canReuse && this.#isSent) {
      if (this.#isPaused) this.#connection.resume();
      this.#options.onFree(this.#connection);
    } else this.#connection.close();
    this.#stopSource();
    this.#onWanted();
    this.#onDrain();
    this.#onRead();
  }

  #fail(why: OutboundFailure): void {
    if (this.#isOver) return;
    this.#failed = this.#head ? { ...why, status: this.#head.status } : why;
    this.#headed.resolve(this.#failed);
    this.#over();
  }

  readonly #onAbort = () => this.#fail(this.#options.signal.reason as OutboundFailure);

  async #send(): Promise<void> {
    const { request, to } = this.#options;
    const { method = 'GET', headers = {}, body } = request;
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body?.length;
    const asksFirst = request.asksFirst === true && isSource(body);
    const text = requestHead(to, { method, headers, length, asksFirst });
    request.onStart?.();
    if (!isSource(body)) {
      // One write is one packet, where it fits.
      this.#connection.write(Buffer.concat([Buffer.from(text, 'latin1'), Buffer.from(body ?? '')]));
      this.#isSent = true;
      if (length !== undefined) request.onSent?.(length);
      return;
    }
    this.#connection.write(text);
    if (asksFirst) await this.#wanted();
    if (this.#isUnwanted()) return;
    const wrong = await this.#sendPieces(body);
    if (wrong !== undefined) this.#fail(failure('source', wrong));
  }

  /** Sends a body piece by piece, the next one only when the peer has room. Returns what is wrong with the source. */
  async #sendPieces({ chunks, length }: OutboundSource): Promise<string | undefined> {
    let sent = 0;
    let unfinished: AsyncIterator<Uint8Array> | undefined;
    // Not awaited: a source that hangs must not keep the exchange.
    this.#stopSource = () => void unfinished?.return?.()?.catch(() => {});
    try {
      const pieces = chunks()[Symbol.asyncIterator]();
      unfinished = pieces;
      for (;;) {
        const next = await pieces.next();
        if (next.done) unfinished = undefined;
        if (this.#isUnwanted()) return undefined;
        if (next.done) {
          this.#isSent = sent === length;
          return this.#isSent ? undefined : `the body has ${sent} bytes, not ${length}`;
        }
        if (next.value.length === 0) continue;
        sent += next.value.length;
        if (sent > length) return `the body has more than ${length} bytes`;
        this.#active();
        const hasRoom = this.#connection.write(next.value);
        this.#options.request.onSent?.(sent);
        if (!hasRoom && !this.#isUnwanted())
          await new Promise<void>((resolve) => {
            this.#onDrain = resolve;
          });
        if (this.#isUnwanted()) return undefined;
      }
    } catch {
      // The error of a source may hold paths and names of this machine.
      return 'the body to send could not be read';
    } finally {
      this.#stopSource();
    }
  }

  /** Nothing more is to be sent: it is over, or the peer refused. */
  #isUnwanted(): boolean {
    return this.#isOver || (this.#head !== undefined && this.#head.status >= 300);
  }

  /** The peer said that it wants the body, or that it does not, or nothing. */
  #wanted(): Promise<void> {
    return new Promise((resolve) => {
      const { clock, limits } = this.#options;
      const cancel = clock.at(clock.now() + limits.continueTimeout, resolve);
      this.#onWanted = () => {
        cancel();
        resolve();
      };
    });
  }
}
