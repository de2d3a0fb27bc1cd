import type { Clock } from '../../../core/ports/clock.ts';
import type { OutboundFailure, OutboundRequest } from '../../../core/ports/outbound.ts';
import { type AnswerHead, answerParser } from './answer-parser.ts';
import type { Connection } from './connection.ts';
import { failure } from './failure.ts';
import type { OutboundLimits } from './limits.ts';
import { requestHead } from './request-head.ts';
import { sendSource } from './send-source.ts';
import type { Target } from './target.ts';

/** One request and its answer on one connection. */
export interface Exchange {
  readonly head: Promise<ExchangeHead | OutboundFailure>;
  /** The next bytes of the body, undefined at its end. One call at a time. */
  read(): Promise<Buffer | OutboundFailure | undefined>;
  /** The rest is not wanted: read within limits, so that the connection can be used again, else closed. */
  discard(): void;
  /** Whether anything of an answer has arrived. */
  readonly hasAnswer: boolean;
  /** Of an answer that was read to its end. */
  readonly trailers: Readonly<Record<string, string>>;
}

export interface ExchangeHead extends AnswerHead {
  readonly ok: true;
}

interface ExchangeOptions {
  readonly to: Target;
  readonly request: OutboundRequest;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly limits: OutboundLimits;
  /** The connection can carry another request. */
  onFree(connection: Connection): void;
}

export function exchange(connection: Connection, options: ExchangeOptions): Exchange {
  const { to, request, signal, clock, limits } = options;
  const idleTimeout = request.idleTimeout ?? limits.idleTimeout;
  const chunks: Buffer[] = [];
  /** Parts of the bytes that are parsed just now. */
  const arrived: Buffer[] = [];
  let unread = 0;
  let isPaused = false;
  let failed: OutboundFailure | undefined;
  let head: ExchangeHead | undefined;
  let hasAnswer = false;
  let isSent = false;
  /** Bytes that may still be thrown away; undefined while they are wanted. */
  let drainable: number | undefined;
  let isOver = false;
  let cancelTimer = () => {};
  let lastActive = clock.now();
  let onRead = () => {};
  let onDrain = () => {};
  let stopSource = () => {};
  let onWanted = () => {};
  const headed = Promise.withResolvers<ExchangeHead | OutboundFailure>();

  const active = () => {
    lastActive = clock.now();
  };
  const watchIdle = () => {
    cancelTimer = clock.at(lastActive + idleTimeout, () => {
      // A reader that takes its time is not the peer's silence.
      if (isPaused) active();
      if (clock.now() - lastActive < idleTimeout) return watchIdle();
      fail(failure('timeout', `${to.origin} was silent for ${idleTimeout} ms`));
    });
  };

  /** Whatever happens, exactly once: the connection is given on or closed, nothing of this hears of it any more. */
  const over = () => {
    if (isOver) return;
    isOver = true;
    cancelTimer();
    signal.removeEventListener('abort', onAbort);
    connection.give(undefined);
    if (failed === undefined && parser.canReuse && isSent) {
      if (isPaused) connection.resume();
      options.onFree(connection);
    } else connection.close();
    stopSource();
    onWanted();
    onDrain();
    onRead();
  };
  const fail = (why: OutboundFailure) => {
    if (isOver) return;
    failed = head ? { ...why, status: head.status } : why;
    headed.resolve(failed);
    over();
  };
  const onAbort = () => fail(signal.reason as OutboundFailure);

  const parser = answerParser(
    {
      interim(status) {
        if (status === 100) onWanted();
      },
      head(parsed) {
        head = { ok: true, ...parsed };
        headed.resolve(head);
        onWanted();
      },
      body(bytes) {
        if (drainable === undefined) arrived.push(bytes);
      },
      // Looked at when all that came with it has been parsed.
      done() {},
    },
    { isHead: request.method === 'HEAD', limits },
  );

  /** What came at one time is one piece, however small the chunks are in which the peer sent it. */
  const keep = () => {
    if (arrived.length === 0) return;
    const piece = arrived.length === 1 ? arrived[0] : Buffer.concat(arrived);
    arrived.length = 0;
    chunks.push(piece);
    unread += piece.length;
    if (unread > limits.unreadBytes && !isPaused) {
      isPaused = true;
      connection.pause();
    }
    onRead();
  };

  const discard = () => {
    if (isOver || drainable !== undefined) return;
    chunks.length = 0;
    unread = 0;
    drainable = limits.drainBytes;
    if (!isSent || (head?.length ?? 0) > drainable + limits.maxBytes) return over();
    if (isPaused) connection.resume();
    isPaused = false;
    cancelTimer();
    signal.removeEventListener('abort', onAbort);
    cancelTimer = clock.at(clock.now() + limits.drainTime, over);
  };

  connection.give({
    data(bytes) {
      hasAnswer = true;
      active();
      if (drainable !== undefined) drainable -= bytes.length;
      const wrong = parser.push(bytes);
      keep();
      // A complete answer counts, whatever is behind it: only the connection is not used again.
      if (wrong !== undefined && !parser.isDone) return fail(failure('protocol', `${to.origin}: ${wrong}`));
      // A peer that refuses while it is still sent to does not want the rest.
      if (head && head.status >= 300 && !isSent) onDrain();
      if (parser.isDone || (drainable !== undefined && drainable < 0)) over();
    },
    ended() {
      const wrong = parser.end();
      if (wrong === undefined) over();
      else fail(failure('closed', `${to.origin}: ${wrong}`));
    },
    drained() {
      active();
      onDrain();
    },
  });
  signal.addEventListener('abort', onAbort);
  watchIdle();
  if (signal.aborted) onAbort();
  else void send();

  async function send(): Promise<void> {
    const { method = 'GET', headers = {}, body } = request;
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body?.length;
    const asksFirst = request.asksFirst === true && typeof body === 'object' && !(body instanceof Uint8Array);
    const text = requestHead(to, { method, headers, length, asksFirst });
    request.onStart?.();
    if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) {
      // One write is one packet, where it fits.
      const all = body === undefined ? text : Buffer.concat([Buffer.from(text, 'latin1'), Buffer.from(body)]);
      connection.write(all);
      isSent = true;
      if (length !== undefined) request.onSent?.(length);
      return;
    }
    connection.write(text);
    if (asksFirst) await wanted();
    if (isOver || (head !== undefined && head.status >= 300)) return;
    const wrong = await sendSource(body, {
      write: (bytes) => {
        active();
        return connection.write(bytes);
      },
      drained: () =>
        new Promise((resolve) => {
          onDrain = resolve;
        }),
      onStop: (stop) => {
        stopSource = stop;
      },
      isOver: () => isOver || (head !== undefined && head.status >= 300),
      onSent: request.onSent,
    });
    if (wrong === undefined) isSent = true;
    else if (wrong !== 'over') fail(failure('source', wrong));
  }

  /** The peer said that it wants the body, or that it does not, or nothing. */
  function wanted(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = clock.at(clock.now() + limits.continueTimeout, resolve);
      onWanted = () => {
        cancel();
        resolve();
      };
    });
  }

  return {
    head: headed.promise,
    async read() {
      while (chunks.length === 0 && !isOver) {
        await new Promise<void>((resolve) => {
          onRead = resolve;
        });
      }
      const bytes = chunks.shift();
      if (!bytes) return failed;
      unread -= bytes.length;
      if (isPaused && !isOver && unread < limits.unreadBytes / 2) {
        isPaused = false;
        active();
        connection.resume();
      }
      return bytes;
    },
    discard,
    get hasAnswer() {
      return hasAnswer;
    },
    get trailers() {
      return parser.trailers;
    },
  };
}
