import type { Socket } from 'bun';
import { type AmfValue, encodeAmf0, readAmf0 } from './amf0.ts';
import { ProtocolError } from './protocol-error.ts';
import { type PublishTarget, parsePublishUrl } from './publish-target.ts';
import { HANDSHAKE, ServerMessages } from './server-messages.ts';

/**
 * Publishes to an RTMP server the way encoders do (Adobe RTMP 1.0, and the FMLE commands around it).
 * Resolves once the server has said `NetStream.Publish.Start`. Rejects with `PublishRefused` when it
 * says no, else with an `Error` that says what went wrong. No message holds the stream key.
 */
export async function publish(options: PublishOptions): Promise<Publisher> {
  const target = parsePublishUrl(options.url);
  const connection = new Connection(target, options);
  const deadline = AbortSignal.timeout(options.timeoutMs ?? 10_000);
  const giveUp = () => connection.end({ cause: 'error', message: 'the server did not answer in time' });
  const leave = () => connection.end({ cause: 'closed', message: 'the publish was called off' });
  deadline.addEventListener('abort', giveUp);
  options.signal?.addEventListener('abort', leave);
  if (options.signal?.aborted) leave();
  try {
    Bun.connect({
      hostname: target.host,
      port: target.port,
      ...(target.isSecure && { tls: { serverName: target.host } }),
      socket: {
        binaryType: 'uint8array',
        open: (socket) => connection.open(socket),
        data: (_, bytes) => connection.receive(bytes),
        drain: () => connection.flush(),
        end: () => connection.end({ cause: 'peer', message: 'the server closed the connection' }),
        close: () => connection.end({ cause: 'peer', message: 'the server closed the connection' }),
        error: (_, error) => connection.end({ cause: 'error', message: error.message }),
        connectError: (_, error) =>
          connection.end({ cause: 'error', message: `no connection: ${error.message}` }),
      },
    }).catch((error: Error) =>
      connection.end({ cause: 'error', message: `no connection: ${error.message}` }),
    );
    await connection.accepted;
    return connection;
  } finally {
    deadline.removeEventListener('abort', giveUp);
    options.signal?.removeEventListener('abort', leave);
  }
}

export interface PublishOptions {
  /** `rtmp://host:port/app/key`, or `rtmps://`. */
  url: string;
  /** Bytes of payload in a chunk that we send. Default 4096. */
  chunkSize?: number;
  /** Bytes that may wait for the network before messages are not accepted. Default 4 MB. */
  maxBuffered?: number;
  /** From the first packet to `NetStream.Publish.Start`. Default 10,000. */
  timeoutMs?: number;
  /** Calls off a publish that was not accepted yet. */
  signal?: AbortSignal;
  /** Every `onStatus` of the server. */
  onStatus?: (status: RtmpStatus) => void;
}

export interface RtmpStatus {
  level: string;
  /** `NetStream.Publish.Start` and the like. */
  code: string;
}

export interface Publisher {
  /**
   * A whole FLV VIDEODATA body; `timestamp` in milliseconds, taken modulo 2^32. What is sent in one turn of
   * the event loop goes out in one write. False: the output is full, the message was not taken.
   */
  sendVideo(body: Uint8Array, timestamp: number): boolean;
  /** The same for AUDIODATA. */
  sendAudio(body: Uint8Array, timestamp: number): boolean;
  /** An FLV script tag's body (AMF0 `onMetaData` and its values); `@setDataFrame` is put before it. */
  sendMetadata(body: Uint8Array): boolean;
  /** Bytes that wait for the network. */
  readonly buffered: number;
  /** Clean says goodbye as an encoder does (`FCUnpublish`, `deleteStream`); otherwise it just vanishes. */
  close(options: { clean: boolean }): Promise<void>;
  readonly closed: Promise<PublishEnd>;
}

export interface PublishEnd {
  /** `closed` by us, by the `peer`, `refused` with a status, or an `error`. */
  cause: 'closed' | 'peer' | 'refused' | 'error';
  message: string;
  /** The status that came with a refusal. */
  code?: string;
}

export class PublishRefused extends Error {
  override readonly name = 'PublishRefused';
  /** `NetStream.Publish.Unauthorized` and the like. */
  readonly code: string;

  constructor(code: string) {
    super(`the server refused the publish: ${code}`);
    this.code = code;
  }
}

/** Bytes that `writeMessage` needs at most. */
export function chunkedSize(length: number, chunkSize: number): number {
  return length + 16 + Math.ceil(length / chunkSize) * 5;
}

/**
 * Writes one message as chunks (RTMP 5.3.1) into `out` from `at` on and answers the position after it.
 * From 2^24 - 1 ms on the timestamp goes into the extended field, in every chunk of the message, as all
 * common senders do.
 */
export function writeMessage(out: Uint8Array, start: number, message: Message): number {
  const { chunkStream, type, streamId, body, chunkSize } = message;
  const time = message.timestamp >>> 0;
  const short = Math.min(time, 0xffffff);
  const { length } = body;
  let at = start;
  out[at++] = chunkStream;
  out[at++] = short >>> 16;
  out[at++] = short >>> 8;
  out[at++] = short;
  out[at++] = length >>> 16;
  out[at++] = length >>> 8;
  out[at++] = length;
  out[at++] = type;
  out[at++] = streamId;
  out[at++] = streamId >>> 8;
  out[at++] = streamId >>> 16;
  out[at++] = streamId >>> 24;
  let from = 0;
  for (;;) {
    if (short === 0xffffff) {
      out[at++] = time >>> 24;
      out[at++] = time >>> 16;
      out[at++] = time >>> 8;
      out[at++] = time;
    }
    const to = Math.min(from + chunkSize, length);
    out.set(from === 0 && to === length ? body : body.subarray(from, to), at);
    at += to - from;
    if (to === length) return at;
    from = to;
    out[at++] = 0xc0 | chunkStream;
  }
}

export interface Message {
  /** 2..63, so that it fits the one-byte form. */
  chunkStream: number;
  type: number;
  streamId: number;
  timestamp: number;
  body: Uint8Array;
  chunkSize: number;
}

/** Chunk streams we write on. */
const CONTROL = 2;
const COMMAND = 3;
const AUDIO = 4;
const DATA = 5;
const VIDEO = 6;

/** Transaction numbers of our commands. */
const CONNECT = 1;
const RELEASE = 2;
const FC_PUBLISH = 3;
const CREATE_STREAM = 4;
const PUBLISH = 5;

const SET_DATA_FRAME = encodeAmf0(['@setDataFrame']);

class Connection implements Publisher {
  readonly closed: Promise<PublishEnd>;
  readonly accepted: Promise<void>;
  readonly #accept: { resolve: () => void; reject: (error: Error) => void };
  readonly #settleClosed: (end: PublishEnd) => void;
  readonly #target: PublishTarget;
  readonly #options: PublishOptions;
  readonly #chunkSize: number;
  readonly #maxBuffered: number;
  #socket: Socket | undefined;
  #isOver = false;
  #isLeaving = false;
  #streamId = 0;

  #out = new Uint8Array(32 * 1024);
  #sent = 0;
  #filled = 0;
  #isFlushDue = false;

  readonly #messages: ServerMessages;
  #acknowledged = 0;
  #window = 0;

  constructor(target: PublishTarget, options: PublishOptions) {
    this.#target = target;
    this.#options = options;
    this.#chunkSize = options.chunkSize ?? 4096;
    this.#maxBuffered = options.maxBuffered ?? 4 * 1024 * 1024;
    const accepted = Promise.withResolvers<void>();
    this.accepted = accepted.promise;
    this.#accept = accepted;
    const closed = Promise.withResolvers<PublishEnd>();
    this.closed = closed.promise;
    this.#settleClosed = closed.resolve;
    this.#messages = new ServerMessages({
      onHandshake: (answer) => this.#connect(answer),
      onMessage: (type, body) => this.#handle(type, body),
    });
  }

  get buffered(): number {
    return this.#filled - this.#sent;
  }

  sendVideo(body: Uint8Array, timestamp: number): boolean {
    return this.#send(VIDEO, { type: 9, timestamp, body });
  }

  sendAudio(body: Uint8Array, timestamp: number): boolean {
    return this.#send(AUDIO, { type: 8, timestamp, body });
  }

  sendMetadata(body: Uint8Array): boolean {
    const whole = new Uint8Array(SET_DATA_FRAME.length + body.length);
    whole.set(SET_DATA_FRAME);
    whole.set(body, SET_DATA_FRAME.length);
    return this.#send(DATA, { type: 18, timestamp: 0, body: whole });
  }

  async close({ clean }: { clean: boolean }): Promise<void> {
    const end: PublishEnd = { cause: 'closed', message: 'closed by us' };
    if (clean && !this.#isOver && !this.#isLeaving) {
      this.#isLeaving = true;
      this.#command(['FCUnpublish', 6, null, this.#target.key]);
      this.#command(['deleteStream', 7, null, this.#streamId]);
      this.flush();
      // Half a close, then the server's own: closing at once could reset the connection before the server
      // has read the goodbye. One that does not close is left after a second.
      const patience = AbortSignal.timeout(1000);
      patience.addEventListener('abort', () => this.end(end));
    } else this.end(end);
    await this.closed;
  }

  open(socket: Socket): void {
    if (this.#isOver) {
      socket.terminate();
      return;
    }
    this.#socket = socket;
    socket.setNoDelay(true);
    const hello = new Uint8Array(1 + HANDSHAKE);
    hello[0] = 3;
    crypto.getRandomValues(hello.subarray(9));
    this.#append(hello);
  }

  receive(bytes: Uint8Array): void {
    if (this.#isOver) return;
    try {
      this.#messages.receive(bytes);
      this.#acknowledge();
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.end({ cause: 'error', message: error.message });
    }
  }

  /** Writes what waits, as far as the network takes it. */
  flush(): void {
    this.#isFlushDue = false;
    if (this.#isOver || !this.#socket) return;
    if (this.#filled > this.#sent) {
      const written = this.#socket.write(this.#out.subarray(this.#sent, this.#filled));
      if (written > 0) this.#sent += written;
      if (this.#sent === this.#filled) this.#sent = this.#filled = 0;
    }
    if (this.#isLeaving && this.#filled === 0) this.#socket.shutdown();
  }

  end(end: PublishEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#messages.close();
    const outcome: PublishEnd =
      this.#isLeaving && end.cause === 'peer' ? { cause: 'closed', message: 'closed by us' } : end;
    this.#socket?.terminate();
    this.#settleClosed(outcome);
    this.#accept.reject(outcome.code ? new PublishRefused(outcome.code) : new Error(outcome.message));
    // Nobody waits for `accepted` once it was resolved; a rejection after that is no news.
    this.accepted.catch(() => {});
    this.#out = new Uint8Array(0);
    this.#sent = this.#filled = 0;
  }

  #send(chunkStream: number, message: { type: number; timestamp: number; body: Uint8Array }): boolean {
    if (this.#isOver) return false;
    const chunkSize = this.#chunkSize;
    if (!this.#reserve(chunkedSize(message.body.length, chunkSize))) return false;
    const { type, timestamp, body } = message;
    const streamId = chunkStream === CONTROL ? 0 : this.#streamId;
    const whole = { chunkStream, type, timestamp, body, streamId, chunkSize };
    this.#filled = writeMessage(this.#out, this.#filled, whole);
    this.#flushSoon();
    return true;
  }

  #append(bytes: Uint8Array): void {
    if (!this.#reserve(bytes.length)) return;
    this.#out.set(bytes, this.#filled);
    this.#filled += bytes.length;
    this.#flushSoon();
  }

  #flushSoon(): void {
    if (this.#isFlushDue) return;
    this.#isFlushDue = true;
    queueMicrotask(() => this.flush());
  }

  #reserve(count: number): boolean {
    const waiting = this.buffered;
    if (waiting + count > this.#maxBuffered) return false;
    if (this.#filled + count <= this.#out.length) return true;
    let size = this.#out.length;
    while (size < waiting + count) size *= 2;
    const roomy = size === this.#out.length ? this.#out : new Uint8Array(size);
    roomy.set(this.#out.subarray(this.#sent, this.#filled));
    this.#out = roomy;
    this.#sent = 0;
    this.#filled = waiting;
    return true;
  }

  #command(values: readonly AmfValue[]): void {
    this.#send(COMMAND, { type: 20, timestamp: 0, body: encodeAmf0(values) });
  }

  #control(type: number, values: readonly number[]): void {
    const body = new Uint8Array(values.length * 4);
    const view = new DataView(body.buffer);
    for (const [n, value] of values.entries()) view.setUint32(n * 4, value);
    this.#send(CONTROL, { type, timestamp: 0, body });
  }

  #connect(answer: Uint8Array): void {
    const { app, tcUrl } = this.#target;
    this.#append(answer);
    this.#control(1, [this.#chunkSize]);
    const flashVer = 'FMLE/3.0 (compatible; Millrace)';
    this.#command(['connect', CONNECT, { app, type: 'nonprivate', flashVer, tcUrl }]);
  }

  #handle(type: number, body: Uint8Array): void {
    const view = new DataView(body.buffer);
    const number = body.length >= 4 ? view.getUint32(0) : 0;
    if (type === 5) this.#window = number;
    else if (type === 6) this.#control(5, [number]);
    else if (type === 4 && body.length >= 6 && view.getUint16(0) === 6) {
      const pong = body.slice(0, 6);
      pong[1] = 7;
      this.#send(CONTROL, { type: 4, timestamp: 0, body: pong });
    } else if (type === 20) this.#answer(readAmf0(body, 0, body.length));
  }

  #answer([name, transaction, , details]: AmfValue[]): void {
    const { key } = this.#target;
    if (name === '_result' && transaction === CONNECT) {
      this.#command(['releaseStream', RELEASE, null, key]);
      this.#command(['FCPublish', FC_PUBLISH, null, key]);
      this.#command(['createStream', CREATE_STREAM, null]);
    } else if (name === '_result' && transaction === CREATE_STREAM) {
      if (typeof details !== 'number') throw new ProtocolError('the server gave no stream number');
      this.#streamId = details >>> 0;
      this.#command(['publish', PUBLISH, null, key, 'live']);
    } else if (
      name === '_error' &&
      (transaction === CONNECT || transaction === CREATE_STREAM || transaction === PUBLISH)
    ) {
      this.#refuse(statusOf(details, key).code);
    } else if (name === 'onStatus') {
      const status = statusOf(details, key);
      this.#options.onStatus?.(status);
      if (status.code === 'NetStream.Publish.Start') this.#accept.resolve();
      else if (status.level === 'error') this.#refuse(status.code);
    }
  }

  #refuse(code: string): void {
    this.end({ cause: 'refused', code, message: `the server refused the publish: ${code}` });
  }

  /** RTMP 5.4.3: after each window of bytes the sender expects to hear how far we are. */
  #acknowledge(): void {
    if (this.#window === 0 || this.#messages.received - this.#acknowledged < this.#window) return;
    this.#acknowledged = this.#messages.received;
    this.#control(3, [this.#messages.received >>> 0]);
  }
}

/** A code is shown to people: one of the specification, or a plain one that does not hold the key. */
function statusOf(details: AmfValue, key: string): RtmpStatus {
  const { code, level } = (details ?? {}) as { code?: AmfValue; level?: AmfValue };
  const isPlain = typeof code === 'string' && /^[\w.]{1,100}$/.test(code);
  // A key such as "a" is part of half of all codes: of those that everyone knows it gives nothing away.
  const isShown = isPlain && (KNOWN_CODES.has(code) || !code.includes(key));
  return {
    code: isShown ? code : 'NetConnection.Call.Failed',
    level: level === 'error' ? 'error' : 'status',
  };
}

/** What servers answer to `connect` and `publish`. */
const KNOWN_CODES: ReadonlySet<string> = new Set([
  'NetConnection.Call.Failed',
  'NetConnection.Connect.AppShutdown',
  'NetConnection.Connect.Closed',
  'NetConnection.Connect.Failed',
  'NetConnection.Connect.InvalidApp',
  'NetConnection.Connect.Rejected',
  'NetConnection.Connect.Success',
  'NetStream.Failed',
  'NetStream.Play.Failed',
  'NetStream.Publish.BadName',
  'NetStream.Publish.Denied',
  'NetStream.Publish.Failed',
  'NetStream.Publish.Rejected',
  'NetStream.Publish.Start',
  'NetStream.Publish.Unauthorized',
  'NetStream.Unpublish.Success',
]);
