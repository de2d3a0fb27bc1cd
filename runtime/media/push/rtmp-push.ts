import type { Socket } from 'node:net';
import type { Log } from '../../../core/base/log.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import { failure, type OutboundFailure } from '../../../core/ports/outbound.ts';
import type { PushTrouble } from '../../../core/ports/pusher.ts';
import { type RtmpUrl, rtmpUrl } from '../../../core/push-url/rtmp-url.ts';
import type { Allowed } from '../../drivers/outbound/openings.ts';
import { reach } from '../../drivers/outbound/reach.ts';
import { type Lookup, type Resolver, resolver } from '../../drivers/outbound/resolver.ts';
import type { Place } from '../../drivers/outbound/target.ts';
import { ClientSession, chunkStreamOf, isKnownCode, type PublishRefusal } from '../rtmp/client-session.ts';
import { chunkedSize, writeChunks } from '../rtmp/message-writer.ts';
import { ProtocolError } from '../rtmp/protocol-error.ts';
import { WindowCount } from '../rtmp/window-count.ts';
import type { Framing, OpenPush, PushConnection, PushHandlers } from './connection.ts';
import { badUrl, outboundTrouble, trouble } from './troubles.ts';

export interface RtmpPushOptions {
  readonly clock: Clock;
  /** Blocks that are open although they are not public: `outbound.allow`. */
  readonly allow: Allowed;
  readonly log?: Log;
  /** TCP and TLS, ms. Default: 5 s. */
  readonly connectTimeout?: number;
  /** Default: the system's. */
  readonly lookup?: Lookup;
  /** Certificates trusted in place of the built-in ones, PEM. For tests; a deployment sets NODE_EXTRA_CA_CERTS. */
  readonly ca?: readonly string[];
}

/**
 * Pushes to `rtmp:` and `rtmps:` URLs. A server is reached as the guarded client reaches one (`reach`): every address of the
 * name is checked, and one of them is connected to.
 */
export function rtmpPush(options: RtmpPushOptions): OpenPush {
  const { allow, clock, lookup } = options;
  const names = resolver({ allow, clock, lookup });
  return (url, handlers) => {
    const push = new RtmpPush({ ...options, names, handlers });
    // Not during this call, whatever it comes to.
    queueMicrotask(() => void push.open(url));
    return { abort: () => push.abort() };
  };
}

interface Parts extends RtmpPushOptions {
  readonly names: Resolver;
  readonly handlers: PushHandlers;
}

class RtmpPush implements PushConnection {
  readonly framing: Framing;
  readonly #parts: Parts;
  readonly #calledOff = new AbortController();
  readonly #orders = new WindowCount({ most: MOST_ORDERS, window: ORDER_WINDOW });
  readonly #received = new WindowCount({ most: RECEIVED_BYTES, window: ORDER_WINDOW });
  #session: ClientSession | undefined;
  #socket: Socket | undefined;
  #streamId = 0;
  #isOpen = false;
  #isOver = false;
  /** The socket keeps bytes that the system has not taken. */
  #isFull = false;
  /** All that was written ends with a message: answers may follow. The others wait. */
  #isBetween = true;
  #waiting: Uint8Array[] = [];
  #answerBytes = 0;
  #cancelDeadline = () => {};

  constructor(parts: Parts) {
    this.#parts = parts;
    this.framing = {
      preamble: new Uint8Array(0),
      sizeOf: (length) => chunkedSize(length, CHUNK_BYTES),
      write: (out, at, type, timestamp, bytes, start, end) =>
        writeChunks(
          out,
          at,
          chunkStreamOf(type),
          type,
          this.#streamId,
          timestamp,
          bytes,
          start,
          end,
          CHUNK_BYTES,
        ),
    };
  }

  async open(url: string): Promise<void> {
    try {
      const { names, connectTimeout = CONNECT_TIMEOUT, clock, ca } = this.#parts;
      const target = rtmpUrl(url);
      if (!target.ok) return this.#end(badUrl(target));
      const place = placeOf(target);
      const addresses = await names.resolve(place, this.#parts.handlers.owner);
      if (this.#isOver) return;
      if ('ok' in addresses) return this.#end(outboundTrouble(addresses));
      this.#cancelDeadline = clock.at(clock.now() + ANSWER_TIMEOUT, () =>
        this.#end(trouble('timeout', 'the server did not accept the stream in time')),
      );
      const reached = await reach(place, {
        addresses,
        timeout: connectTimeout,
        signal: this.#calledOff.signal,
        clock,
        ca,
        take: (socket) => this.#begin(socket, target),
      });
      if ('ok' in reached) this.#end(outboundTrouble(reached));
    } catch (error) {
      this.#fail(error);
    }
  }

  abort(): void {
    this.#stop();
    this.#socket?.destroy();
  }

  /** `bytes` end with a message. What is not taken is given again, with what follows it. */
  write(bytes: Uint8Array): number {
    if (this.#isOver || this.#isFull || this.#socket?.destroyed) return 0;
    let at = 0;
    while (at < bytes.length && !this.#isFull) {
      const to = Math.min(bytes.length, at + SOCKET_BYTES);
      this.#give(bytes.subarray(at, to));
      at = to;
    }
    this.#isBetween = at === bytes.length;
    if (this.#isBetween) for (const answer of this.#waiting.splice(0)) this.#give(answer);
    return at;
  }

  leave(): void {
    if (this.#isOver) return;
    const socket = this.#socket as Socket;
    // In the middle of a message no goodbye can be said: the server sees the end of the bytes.
    if (this.#isBetween) this.#session?.leave();
    this.#stop();
    socket.end();
    // Half a close, then the server's own: closing at once could reset the connection before it has read the goodbye.
    const { clock } = this.#parts;
    const cancel = clock.at(clock.now() + LEAVE_TIMEOUT, () => socket.destroy());
    socket.once('close', cancel);
  }

  /** The socket is connected and was checked. */
  #begin(socket: Socket, target: RtmpUrl): Socket {
    const { handlers } = this.#parts;
    this.#socket = socket;
    const session = new ClientSession({
      target,
      chunkSize: CHUNK_BYTES,
      isPush: true,
      send: (bytes) => this.#say(bytes),
      onPublishing: (streamId) => {
        this.#cancelDeadline();
        this.#streamId = streamId;
        this.#isOpen = true;
        handlers.onOpen(this);
      },
      onRefused: (refusal) => this.#end(refusalTrouble(refusal, { wasAccepted: this.#isOpen })),
      onEnded: () => this.#end(trouble('closed', 'the server ended the stream')),
      onOrder: () => {
        if (!this.#orders.admit(this.#parts.clock.now()))
          throw new ProtocolError('the server gives orders without end');
      },
    });
    this.#session = session;
    socket.on('data', (bytes: Buffer) => this.#receive(session, bytes));
    socket.on('error', () => this.#closed());
    socket.on('end', () => this.#closed());
    socket.on('close', () => this.#closed());
    session.begin();
    return socket;
  }

  #receive(session: ClientSession, bytes: Buffer): void {
    if (this.#isOver) return;
    try {
      if (!this.#received.admit(this.#parts.clock.now(), bytes.length))
        throw new ProtocolError('the server sends more than a server that is published to has to say');
      session.receive(bytes);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** A message of the session. */
  #say(bytes: Uint8Array): void {
    if (this.#isOver) return;
    if (this.#isBetween) this.#give(bytes);
    else this.#waiting.push(bytes);
    this.#answerBytes = this.#isFull || !this.#isBetween ? this.#answerBytes + bytes.length : 0;
    if (this.#answerBytes > UNREAD_ANSWERS)
      this.#end(trouble('stalled', 'the server asks without end and reads no answer'));
  }

  #give(bytes: Uint8Array): void {
    const socket = this.#socket as Socket;
    socket.write(bytes, this.#onTaken);
    this.#isFull = socket.writableLength > 0;
  }

  readonly #onTaken = (): void => {
    if (this.#isOver || !this.#isFull || (this.#socket as Socket).writableLength > 0) return;
    this.#isFull = false;
    if (this.#isOpen) this.#parts.handlers.onDrain();
  };

  #closed(): void {
    const when = this.#isOpen ? '' : ' before it accepted the stream';
    const why = this.#session?.isAsking ? ', which a wrong key is the usual reason for' : '';
    this.#end(trouble('closed', `the server closed the connection${when}${why}`));
  }

  #fail(error: unknown): void {
    const isTheirs = error instanceof ProtocolError;
    // Not its message, which could hold anything.
    if (!isTheirs) this.#parts.log?.error('a push over RTMP failed', { error: nameOf(error) });
    this.#end(trouble('protocol', isTheirs ? error.message : 'what the server said could not be handled'));
  }

  #end(why: PushTrouble): void {
    if (this.#isOver) return;
    this.abort();
    this.#parts.handlers.onEnd(why);
  }

  /** Nothing is reported from here on. */
  #stop(): void {
    this.#isOver = true;
    this.#cancelDeadline();
    this.#session?.close();
    this.#calledOff.abort(CALLED_OFF);
  }
}

/** Commands, pings and control messages of a server within the window (ms), and all bytes that it sends in it. */
const MOST_ORDERS = 200;
const RECEIVED_BYTES = 512 * 1024;
const ORDER_WINDOW = 10_000;
const CONNECT_TIMEOUT = 5_000;
/** From the beginning of that to `NetStream.Publish.Start`, ms. */
const ANSWER_TIMEOUT = 10_000;
/** How long a server may take to read the goodbye and close, ms. */
const LEAVE_TIMEOUT = 1_000;
/** Bytes that a socket keeps of a push, outside its queue and the memory of all queues. */
const SOCKET_BYTES = 64 * 1024;
/** Bytes of answers that a server may leave unread. */
const UNREAD_ANSWERS = 64 * 1024;
/** Payload of one chunk: the most that SRS takes, and nginx-rtmp sets so much aside for each chunk stream. */
const CHUNK_BYTES = 64 * 1024;

const CALLED_OFF: OutboundFailure = failure('aborted', 'the push was called off');

/** Where a URL leads; messages call it `the server`, because the host is as secret as the key. */
function placeOf({ scheme, to }: RtmpUrl): Place {
  return { ...to, isSecure: scheme === 'rtmps', origin: 'the server' };
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}

/**
 * Why a server refused the stream, in words that hold nothing of what it says but known codes.
 *
 * @param options.wasAccepted It said yes before: whatever it ended the stream for, the URL and the key were right then. */
function refusalTrouble(
  { code, asksForUser }: PublishRefusal,
  { wasAccepted }: { wasAccepted: boolean },
): PushTrouble {
  if (asksForUser) {
    const what =
      'the server asks for a user and a password, which is not supported; use one that takes a key';
    return trouble('rejected', what);
  }
  // The one says nothing, the other is a text of the server's own.
  const isNews = code !== 'NetConnection.Call.Failed' && isKnownCode(code);
  if (wasAccepted) {
    const named = isNews ? ` with ${code}` : '';
    return trouble('rejected', `the server accepted the stream and then ended it${named}`);
  }
  if (!isNews) return trouble('rejected', `the server refused the stream; ${CHECK_URL}`);
  const what = `the server refused the stream with ${code}`;
  const advice = ADVICE[code];
  return trouble('rejected', advice === undefined ? what : `${what}: ${advice}`);
}

const CHECK_URL = "check the target's URL and its key";
/** What is known to help. */
const ADVICE: Readonly<Record<string, string>> = {
  'NetConnection.Connect.InvalidApp': 'it does not know the path of the URL in front of the key',
  'NetConnection.Connect.Rejected': CHECK_URL,
  'NetStream.Publish.BadName': 'the key is wrong, or something else is streaming with it',
  'NetStream.Publish.Denied': CHECK_URL,
  'NetStream.Publish.Rejected': `${CHECK_URL}, and that nothing else is streaming with it`,
  'NetStream.Publish.Unauthorized': CHECK_URL,
};
