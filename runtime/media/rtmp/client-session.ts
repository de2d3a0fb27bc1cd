import type { RtmpUrl } from '../../../core/push-url/rtmp-url.ts';
import { type AmfValue, encodeAmf0 } from './amf0.ts';
import { ChunkParser } from './chunk-parser.ts';
import { Acknowledgements, HANDSHAKE } from './inbound.ts';
import { encodeMessage, messageType } from './message-writer.ts';
import { capabilities, flashVersions, readCommand } from './net-connection.ts';
import { ProtocolError } from './protocol-error.ts';

export interface ClientSessionOptions {
  readonly target: Pick<RtmpUrl, 'app' | 'key' | 'tcUrl'>;
  /** Bytes of payload in a chunk that we send. */
  readonly chunkSize: number;
  /** It is a push of a broadcast that was received here, and says so. */
  readonly isPush?: boolean;
  /** Bytes for the server: whole messages, not used again. */
  send(bytes: Uint8Array): void;
  /** The server has said `NetStream.Publish.Start`: media may be sent in this message stream. At most once. */
  onPublishing(streamId: number): void;
  /** It said no, before that or behind it. */
  onRefused(refusal: PublishRefusal): void;
  /** It ended the publish without calling it an error. */
  onEnded(): void;
  /** Every `onStatus`. */
  onStatus?(status: RtmpStatus): void;
  /** A message of which something follows here, before it is looked at: commands and control messages. May throw `ProtocolError`. */
  onOrder?(): void;
}

export interface RtmpStatus {
  level: string;
  /** `NetStream.Publish.Start` and the like. */
  code: string;
}

export interface PublishRefusal {
  readonly code: string;
  /** It wants user and password by a challenge (`authmod=adobe` and the like). */
  readonly asksForUser: boolean;
}

/**
 * One publish to an RTMP server the way encoders do it (Adobe RTMP 1.0, and the FMLE commands around it), without sockets
 * and timers. What the server says out of turn is ignored, so it can have a command of ours once.
 */
export class ClientSession {
  readonly #options: ClientSessionOptions;
  readonly #parser = new ChunkParser({
    messageBytes: MESSAGE_BYTES,
    onControl: (type, _stream, bytes, start, end) => this.#handle(type, bytes.subarray(start, end)),
  });
  /** S0, S1 and S2, until they are whole. */
  #hello: Uint8Array | undefined = new Uint8Array(1 + 2 * HANDSHAKE);
  #helloLength = 0;
  /** The server asks for none until it names a window. */
  readonly #acknowledgements = new Acknowledgements(Number.POSITIVE_INFINITY);
  #phase: 'handshake' | 'connect' | 'createStream' | 'publish' | 'publishing' | 'over' = 'handshake';
  #streamId = 0;

  constructor(options: ClientSessionOptions) {
    this.#options = options;
  }

  /** Whether the server was given the key and has not answered yet. */
  get isAsking(): boolean {
    return this.#phase === 'publish';
  }

  /** C0 and C1. */
  begin(): void {
    const hello = new Uint8Array(1 + HANDSHAKE);
    hello[0] = VERSION;
    crypto.getRandomValues(hello.subarray(9));
    this.#options.send(hello);
  }

  /** Bytes from the server. Throws `ProtocolError` when they break the rules or a limit. */
  receive(bytes: Uint8Array): void {
    const at = this.#hello ? this.#readHello(this.#hello, bytes) : 0;
    this.#parser.feed(bytes, at, bytes.length);
    this.#acknowledgements.received += bytes.length;
    if (this.#phase !== 'over' && this.#acknowledgements.take())
      this.#control(messageType.acknowledgement, [this.#acknowledgements.received >>> 0]);
  }

  /** The goodbye of an encoder. What the server still says is ignored. */
  leave(): void {
    if (this.#phase === 'publish' || this.#phase === 'publishing') {
      this.#command(['FCUnpublish', UNPUBLISH, null, this.#options.target.key]);
      this.#command(['deleteStream', DELETE_STREAM, null, this.#streamId]);
    }
    this.close();
  }

  /** No callback is called and nothing is sent any more. */
  close(): void {
    this.#phase = 'over';
    this.#parser.paused = true;
  }

  #readHello(hello: Uint8Array, bytes: Uint8Array): number {
    const count = Math.min(hello.length - this.#helloLength, bytes.length);
    hello.set(bytes.subarray(0, count), this.#helloLength);
    this.#helloLength += count;
    if (count > 0 && hello[0] !== VERSION) throw new ProtocolError(strangerProblem(hello[0]));
    if (this.#helloLength === hello.length) {
      this.#hello = undefined;
      // C2 echoes S1. S2 should be our C1; servers get it wrong, and nothing depends on it.
      this.#connect(hello.subarray(1, 1 + HANDSHAKE));
    }
    return count;
  }

  #connect(answer: Uint8Array): void {
    const { isPush, target } = this.#options;
    const flashVer = flashVersions[isPush ? 'push' : 'encoder'];
    const { app, tcUrl } = target;
    this.#options.send(answer.slice());
    this.#control(messageType.setChunkSize, [this.#options.chunkSize]);
    this.#phase = 'connect';
    this.#command(['connect', CONNECT, { app, type: 'nonprivate', flashVer, tcUrl, ...capabilities }]);
  }

  #handle(type: number, body: Uint8Array): void {
    if (!ORDERS.has(type)) return;
    this.#options.onOrder?.();
    const view = new DataView(body.buffer, body.byteOffset, body.length);
    const number = body.length >= 4 ? view.getUint32(0) : 0;
    if (type === messageType.windowAckSize) this.#acknowledgements.setWindow(body, 0, body.length);
    else if (type === messageType.setPeerBandwidth) this.#control(messageType.windowAckSize, [number]);
    else if (type === messageType.userControl) {
      if (body.length < 6 || view.getUint16(0) !== PING) return;
      const pong = body.slice(0, 6);
      pong[1] = PONG;
      this.#send(CONTROL, { type, body: pong });
    } else {
      const { name, transaction, values } = readCommand(type, body, 0, body.length);
      this.#answer(name, { transaction, details: values[1] });
    }
  }

  #answer(name: string, { transaction, details }: { transaction: number; details: AmfValue }): void {
    const { key } = this.#options.target;
    const isAnswer = transaction === AWAITED[this.#phase];
    if (name === '_result' && isAnswer && this.#phase === 'connect') {
      this.#phase = 'createStream';
      this.#command(['releaseStream', RELEASE, null, key]);
      this.#command(['FCPublish', FC_PUBLISH, null, key]);
      this.#command(['createStream', CREATE_STREAM, null]);
    } else if (name === '_result' && isAnswer && this.#phase === 'createStream') {
      if (typeof details !== 'number') throw new ProtocolError('the server gave no stream number');
      this.#phase = 'publish';
      this.#streamId = details >>> 0;
      this.#command(['publish', PUBLISH, null, key, 'live']);
    } else if (name === '_error' && isAnswer) this.#refuse(details);
    else if (name === 'close') this.#end();
    else if (name === 'onStatus') this.#hear(details);
  }

  #hear(details: AmfValue): void {
    const status = statusOf(details, this.#options.target.key);
    this.#options.onStatus?.(status);
    if (status.level === 'error') this.#refuse(details);
    else if (status.code === 'NetStream.Publish.Start' && this.#phase === 'publish') {
      this.#phase = 'publishing';
      this.#options.onPublishing(this.#streamId);
    } else if (ENDINGS.has(status.code) && this.#phase === 'publishing') this.#end();
  }

  #refuse(details: AmfValue): void {
    const { code } = statusOf(details, this.#options.target.key);
    const { description } = (details ?? {}) as { description?: AmfValue };
    const asksForUser = typeof description === 'string' && description.includes('authmod=');
    this.close();
    this.#options.onRefused({ code, asksForUser });
  }

  #end(): void {
    this.close();
    this.#options.onEnded();
  }

  #command(values: readonly AmfValue[]): void {
    this.#send(COMMAND, { type: messageType.commandAmf0, body: encodeAmf0(values) });
  }

  #control(type: number, values: readonly number[]): void {
    const body = new Uint8Array(values.length * 4);
    const view = new DataView(body.buffer);
    for (const [n, value] of values.entries()) view.setUint32(n * 4, value);
    this.#send(CONTROL, { type, body });
  }

  #send(chunkStream: number, { type, body }: { type: number; body: Uint8Array }): void {
    const { chunkSize } = this.#options;
    const streamId = chunkStream === CONTROL ? 0 : this.#streamId;
    this.#options.send(encodeMessage({ chunkStream, type, streamId, timestamp: 0, body, chunkSize }));
  }
}

/** The first byte of what else is met on such ports. */
function strangerProblem(first: number): string {
  // A TLS record (RFC 8446, 5.1): an alert or a handshake.
  if (first === 0x15 || first === 0x16) return 'the server speaks TLS there, which rtmps is for';
  if (first === 0x48) return 'the server speaks HTTP there, not RTMP';
  return 'the server does not speak RTMP';
}

/** The chunk stream that a publisher writes a message of this type on. */
export function chunkStreamOf(type: number): number {
  if (type === messageType.video) return VIDEO;
  return type === messageType.audio ? AUDIO : DATA;
}

/** Whether the specifications have this code, or servers are known for it: it is no text of somebody's own. */
export function isKnownCode(code: string): boolean {
  return KNOWN_CODES.has(code);
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

const VERSION = 3;
/** One message of a server; its status messages are far below. */
const MESSAGE_BYTES = 64 * 1024;

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
const UNPUBLISH = 6;
const DELETE_STREAM = 7;
/** The answer that counts in each phase. */
const AWAITED: Readonly<Record<string, number>> = {
  connect: CONNECT,
  createStream: CREATE_STREAM,
  publish: PUBLISH,
};

/** User Control events (7.1.7). */
const PING = 6;
const PONG = 7;

const ORDERS: ReadonlySet<number> = new Set([
  messageType.userControl,
  messageType.windowAckSize,
  messageType.setPeerBandwidth,
  messageType.commandAmf0,
  messageType.commandAmf3,
]);

/** A publish is over when the server says so, of what level ever. */
const ENDINGS: ReadonlySet<string> = new Set([
  'NetConnection.Connect.AppShutdown',
  'NetConnection.Connect.Closed',
  'NetStream.Unpublish.Success',
]);

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
