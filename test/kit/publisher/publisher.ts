import type { Socket } from 'bun';
import { type RtmpUrl, rtmpUrl } from '../../../core/push-url/rtmp-url.ts';
import { encodeAmf0 } from '../../../runtime/media/rtmp/amf0.ts';
import { ClientSession, chunkStreamOf, type RtmpStatus } from '../../../runtime/media/rtmp/client-session.ts';
import { chunkedSize, writeMessage } from '../../../runtime/media/rtmp/message-writer.ts';
import { ProtocolError } from '../../../runtime/media/rtmp/protocol-error.ts';

/**
 * Publishes to an RTMP server the way encoders do (Adobe RTMP 1.0, and the FMLE commands around it).
 * Resolves once the server has said `NetStream.Publish.Start`. Rejects with `PublishRefused` when it
 * says no, else with an `Error` that says what went wrong. No message holds the stream key.
 */
export async function publish(options: PublishOptions): Promise<Publisher> {
  const target = rtmpUrl(options.url);
  if (!target.ok) throw new Error(target.message);
  const connection = new Connection(target, options);
  const deadline = AbortSignal.timeout(options.timeoutMs ?? 10_000);
  const giveUp = () => connection.end({ cause: 'error', message: 'the server did not answer in time' });
  const leave = () => connection.end({ cause: 'closed', message: 'the publish was called off' });
  deadline.addEventListener('abort', giveUp);
  options.signal?.addEventListener('abort', leave);
  if (options.signal?.aborted) leave();
  try {
    Bun.connect({
      hostname: target.to.host,
      port: target.to.port,
      ...(target.scheme === 'rtmps' && { tls: { serverName: target.to.host } }),
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

const SET_DATA_FRAME = encodeAmf0(['@setDataFrame']);

class Connection implements Publisher {
  readonly closed: Promise<PublishEnd>;
  readonly accepted: Promise<void>;
  readonly #accept: { resolve: () => void; reject: (error: Error) => void };
  readonly #settleClosed: (end: PublishEnd) => void;
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

  readonly #session: ClientSession;

  constructor(target: RtmpUrl, options: PublishOptions) {
    this.#chunkSize = options.chunkSize ?? 4096;
    this.#maxBuffered = options.maxBuffered ?? 4 * 1024 * 1024;
    const accepted = Promise.withResolvers<void>();
    this.accepted = accepted.promise;
    this.#accept = accepted;
    const closed = Promise.withResolvers<PublishEnd>();
    this.closed = closed.promise;
    this.#settleClosed = closed.resolve;
    this.#session = new ClientSession({
      target,
      chunkSize: this.#chunkSize,
      send: (bytes) => this.#append(bytes),
      onPublishing: (streamId) => {
        this.#streamId = streamId;
        accepted.resolve();
      },
      onRefused: ({ code }) =>
        this.end({ cause: 'refused', code, message: `the server refused the publish: ${code}` }),
      onEnded: () => this.end({ cause: 'peer', message: 'the server ended the publish' }),
      onStatus: options.onStatus,
    });
  }

  get buffered(): number {
    return this.#filled - this.#sent;
  }

  sendVideo(body: Uint8Array, timestamp: number): boolean {
    return this.#send({ type: 9, timestamp, body });
  }

  sendAudio(body: Uint8Array, timestamp: number): boolean {
    return this.#send({ type: 8, timestamp, body });
  }

  sendMetadata(body: Uint8Array): boolean {
    const whole = new Uint8Array(SET_DATA_FRAME.length + body.length);
    whole.set(SET_DATA_FRAME);
    whole.set(body, SET_DATA_FRAME.length);
    return this.#send({ type: 18, timestamp: 0, body: whole });
  }

  async close({ clean }: { clean: boolean }): Promise<void> {
    const end: PublishEnd = { cause: 'closed', message: 'closed by us' };
    if (clean && !this.#isOver && !this.#isLeaving) {
      this.#isLeaving = true;
      this.#session.leave();
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
    this.#session.begin();
  }

  receive(bytes: Uint8Array): void {
    if (this.#isOver) return;
    try {
      this.#session.receive(bytes);
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
    this.#session.close();
    const outcome: PublishEnd =
      this.#isLeaving && end.cause === 'peer' ? { cause: 'closed', message: 'closed by us' } : end;
    this.#socket?.terminate();
    this.#settleClosed(outcome);
    this.#accept.reject(outcome.code ? new PublishRefused(outcome.code) : new Error(outcome.message));
    // Without a waiter the rejection would count as unhandled.
    this.accepted.catch(() => {});
    this.#out = new Uint8Array(0);
    this.#sent = this.#filled = 0;
  }

  #send({ type, timestamp, body }: { type: number; timestamp: number; body: Uint8Array }): boolean {
    if (this.#isOver) return false;
    const chunkSize = this.#chunkSize;
    if (!this.#reserve(chunkedSize(body.length, chunkSize))) return false;
    const [chunkStream, streamId] = [chunkStreamOf(type), this.#streamId];
    const message = { chunkStream, type, timestamp, body, streamId, chunkSize };
    this.#filled = writeMessage(this.#out, this.#filled, message);
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
}
