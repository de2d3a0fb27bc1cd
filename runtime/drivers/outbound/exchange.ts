import type { Clock } from '../../../core/ports/clock.ts';
import {
  failure,
  type OutboundFailure,
  type OutboundRequest,
  type OutboundSource,
} from '../../../core/ports/outbound.ts';
import { type AnswerHead, answerParser } from './answer-parser.ts';
import type { Connection } from './connection.ts';
import type { OutboundLimits } from './limits.ts';
import { isSource, requestHead } from './request-head.ts';
import type { Target } from './target.ts';

/** Longest silence, ms, within a request that names no time of its own. */
const defaultIdleTimeout = 10_000;
/** Received bytes of a stream that nobody has read yet; beyond, the peer has to wait. */
const mostUnread = 256 * 1024;

export type Exchange = ReturnType<typeof exchange>;

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
export function exchange(connection: Connection, options: ExchangeOptions) {
  const { to, request, signal, clock, limits } = options;
  const idleTimeout = request.idleTimeout ?? defaultIdleTimeout;
  const chunks: Buffer[] = [];
  let unread = 0;
  let isPaused = false;
  let failed: OutboundFailure | undefined;
  let head: ExchangeHead | undefined;
  let hasAnswer = false;
  let isSent = false;
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
        chunks.push(bytes);
        unread += bytes.length;
        if (unread > mostUnread && !isPaused) {
          isPaused = true;
          connection.pause();
        }
        onRead();
      },
    },
    { isHead: request.method === 'HEAD' },
  );

  connection.give({
    data(bytes) {
      hasAnswer = true;
      active();
      const wrong = parser.push(bytes);
      // A complete answer counts, whatever is behind it: only the connection is not used again.
      if (wrong !== undefined && !parser.isDone) return fail(failure('protocol', `${to.origin}: ${wrong}`));
      // A peer that refuses while it is still sent to does not want the rest.
      if (head && head.status >= 300 && !isSent) onDrain();
      if (parser.isDone) over();
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
    const asksFirst = request.asksFirst === true && isSource(body);
    const text = requestHead(to, { method, headers, length, asksFirst });
    request.onStart?.();
    if (!isSource(body)) {
      // One write is one packet, where it fits.
      connection.write(Buffer.concat([Buffer.from(text, 'latin1'), Buffer.from(body ?? '')]));
      isSent = true;
      if (length !== undefined) request.onSent?.(length);
      return;
    }
    connection.write(text);
    if (asksFirst) await wanted();
    if (isUnwanted()) return;
    const wrong = await sendPieces(body);
    if (wrong !== undefined) fail(failure('source', wrong));
  }

  /** Sends a body piece by piece, the next one only when the peer has room. Returns what is wrong with the source. */
  async function sendPieces({ chunks, length }: OutboundSource): Promise<string | undefined> {
    let sent = 0;
    let unfinished: AsyncIterator<Uint8Array> | undefined;
    // Not awaited: a source that hangs must not keep the exchange.
    stopSource = () => void unfinished?.return?.()?.catch(() => {});
    try {
      const pieces = chunks()[Symbol.asyncIterator]();
      unfinished = pieces;
      for (;;) {
        const next = await pieces.next();
        if (next.done) unfinished = undefined;
        if (isUnwanted()) return undefined;
        if (next.done) {
          isSent = sent === length;
          return isSent ? undefined : `the body has ${sent} bytes, not ${length}`;
        }
        if (next.value.length === 0) continue;
        sent += next.value.length;
        if (sent > length) return `the body has more than ${length} bytes`;
        active();
        const hasRoom = connection.write(next.value);
        request.onSent?.(sent);
        if (!hasRoom && !isUnwanted())
          await new Promise<void>((resolve) => {
            onDrain = resolve;
          });
        if (isUnwanted()) return undefined;
      }
    } catch {
      // The error of a source may hold paths and names of this machine.
      return 'the body to send could not be read';
    } finally {
      stopSource();
    }
  }

  /** Nothing more is to be sent: it is over, or the peer refused. */
  function isUnwanted(): boolean {
    return isOver || (head !== undefined && head.status >= 300);
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
    /** The next bytes of the body, undefined at its end. One call at a time. */
    async read(): Promise<Buffer | OutboundFailure | undefined> {
      while (chunks.length === 0 && !isOver) {
        await new Promise<void>((resolve) => {
          onRead = resolve;
        });
      }
      const bytes = chunks.shift();
      if (!bytes) return failed;
      unread -= bytes.length;
      if (isPaused && !isOver && unread < mostUnread / 2) {
        isPaused = false;
        active();
        connection.resume();
      }
      return bytes;
    },
    /** The rest is not wanted: the connection is closed, unless all has come. */
    discard() {
      chunks.length = 0;
      over();
    },
    /** Whether anything of an answer has arrived. */
    get hasAnswer() {
      return hasAnswer;
    },
    /** Of an answer that was read to its end. */
    get trailers() {
      return parser.trailers;
    },
  };
}
