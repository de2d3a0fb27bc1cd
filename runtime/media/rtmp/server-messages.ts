import { publisherLimits } from './limits.ts';
import { messageType } from './message-type.ts';
import { ProtocolError } from './protocol-error.ts';

export interface ServerMessagesOptions {
  /** S0 to S2 have come; `answer` is S1, which is to be sent back as C2. Good during the call only. */
  onHandshake(answer: Uint8Array): void;
  /** A whole message. Set Chunk Size and Abort are obeyed here and do not come. */
  onMessage(type: number, body: Uint8Array): void;
}

/**
 * What a server says to a publisher: its handshake, then messages (RTMP 1.0, sections 5.2 and 5.3.1), cut anywhere. What
 * it keeps is bounded by what has come, not by what a header claims. The other direction has `ChunkParser`.
 */
export class ServerMessages {
  /** Bytes received. */
  received = 0;
  readonly #options: ServerMessagesOptions;
  readonly #streams = new Map<number, Incoming>();
  /** S0, S1 and S2, until they are whole. */
  #hello: Uint8Array | undefined = new Uint8Array(1 + 2 * HANDSHAKE);
  #helloLength = 0;
  /** A chunk header that is not whole yet. */
  readonly #header = new Uint8Array(LONGEST_HEADER);
  readonly #headerView = new DataView(this.#header.buffer);
  #headerLength = 0;
  /** The message that a payload belongs to, while `#payloadLeft` of it are to come. */
  #current: Incoming | undefined;
  #payloadLeft = 0;
  /** Bytes of messages that are not whole. */
  #unfinished = 0;
  #isClosed = false;
  #chunkSize = 128;

  constructor(options: ServerMessagesOptions) {
    this.#options = options;
  }

  /** Bytes from the server. Throws `ProtocolError` when they break the rules or a limit. */
  receive(bytes: Uint8Array): void {
    this.received += bytes.length;
    for (let at = 0; at < bytes.length && !this.#isClosed; ) {
      if (this.#hello) at = this.#readHello(this.#hello, bytes, at);
      else if (this.#current) at = this.#readPayload(this.#current, bytes, at);
      else at = this.#readHeader(bytes, at);
    }
  }

  /** Nothing is told any more, of what has come neither. */
  close(): void {
    this.#isClosed = true;
    this.#streams.clear();
    this.#current = undefined;
  }

  #readHello(hello: Uint8Array, bytes: Uint8Array, at: number): number {
    const count = Math.min(hello.length - this.#helloLength, bytes.length - at);
    hello.set(bytes.subarray(at, at + count), this.#helloLength);
    this.#helloLength += count;
    if (hello[0] !== VERSION) throw new ProtocolError(strangerProblem(hello[0]));
    if (this.#helloLength === hello.length) {
      this.#hello = undefined;
      // What S2 holds is of no interest: it is to be our C1, which servers get wrong and nothing hangs on.
      this.#options.onHandshake(hello.subarray(1, 1 + HANDSHAKE));
    }
    return at + count;
  }

  /** Takes bytes until the header is whole: headers are short and few. */
  #readHeader(bytes: Uint8Array, from: number): number {
    let at = from;
    while (at < bytes.length) {
      this.#header[this.#headerLength++] = bytes[at++];
      if (this.#headerLength === this.#headerSize()) {
        this.#beginChunk();
        break;
      }
    }
    return at;
  }

  /** Bytes of the header, as far as what has come of it tells. */
  #headerSize(): number {
    const header = this.#header;
    const have = this.#headerLength;
    const basic = basicSize(header[0]);
    if (have < basic) return basic;
    const format = header[0] >> 6;
    const size = basic + [11, 7, 3, 0][format];
    if (have < size) return size;
    const known = this.#streams.get(this.#streamId());
    if (!known && format !== 0) throw new ProtocolError('a chunk continues what never began');
    const isExtended =
      format === 3 ? known?.isExtended : this.#headerView.getUint32(basic) >>> 8 === 0xffffff;
    return isExtended ? size + 4 : size;
  }

  #streamId(): number {
    const [first, second, third] = this.#header;
    const low = first & 0x3f;
    return low > 1 ? low : 64 + second + (low === 1 ? third * 256 : 0);
  }

  #beginChunk(): void {
    const basic = basicSize(this.#header[0]);
    const format = this.#header[0] >> 6;
    this.#headerLength = 0;
    const id = this.#streamId();
    let stream = this.#streams.get(id);
    if (!stream) {
      if (this.#streams.size >= limits.chunkStreams.value)
        throw new ProtocolError('the server uses too many chunk streams');
      stream = { type: 0, length: 0, isExtended: false, body: EMPTY, received: 0 };
      this.#streams.set(id, stream);
    }
    if (format < 2) {
      stream.length = this.#headerView.getUint32(basic + 2) & 0xffffff;
      stream.type = this.#header[basic + 6];
    }
    if (format < 3) {
      stream.isExtended = this.#headerView.getUint32(basic) >>> 8 === 0xffffff;
      this.#drop(stream);
    }
    if (stream.length > limits.messageBytes.value)
      throw new ProtocolError('the server sent a message that is too long');
    this.#payloadLeft = Math.min(this.#chunkSize, stream.length - stream.received);
    if (stream.length === 0) this.#tell(stream.type, EMPTY);
    else this.#current = stream;
  }

  #readPayload(stream: Incoming, bytes: Uint8Array, at: number): number {
    const count = Math.min(this.#payloadLeft, bytes.length - at);
    const whole = stream.received + count;
    this.#unfinished += count;
    if (this.#unfinished > limits.unfinishedBytes.value)
      throw new ProtocolError('the server leaves too many messages unfinished');
    if (whole > stream.body.length) {
      // Grows as bytes come: a header may claim anything.
      const roomy = new Uint8Array(Math.min(stream.length, Math.max(whole, 2 * stream.body.length)));
      roomy.set(stream.body.subarray(0, stream.received));
      stream.body = roomy;
    }
    stream.body.set(bytes.subarray(at, at + count), stream.received);
    stream.received = whole;
    this.#payloadLeft -= count;
    if (this.#payloadLeft === 0) this.#current = undefined;
    if (whole === stream.length) {
      const { body } = stream;
      this.#drop(stream);
      this.#tell(stream.type, body);
    }
    return at + count;
  }

  #drop(stream: Incoming): void {
    this.#unfinished -= stream.received;
    stream.received = 0;
    stream.body = EMPTY;
  }

  #tell(type: number, body: Uint8Array): void {
    const number = body.length >= 4 ? new DataView(body.buffer, body.byteOffset).getUint32(0) : 0;
    if (type === messageType.setChunkSize) {
      if (number < 1) throw new ProtocolError('the server set a chunk size of zero');
      this.#chunkSize = number;
    } else if (type === messageType.abort) {
      const aborted = this.#streams.get(number);
      if (aborted) this.#drop(aborted);
    } else this.#options.onMessage(type, body);
  }
}

interface Incoming {
  type: number;
  length: number;
  isExtended: boolean;
  body: Uint8Array;
  received: number;
}

/** Bytes of C1 and C2, S1 and S2 each. */
export const HANDSHAKE = 1536;
const VERSION = 3;
/** Of a chunk: three bytes for the chunk stream, eleven, and an extended timestamp. */
const LONGEST_HEADER = 18;
const EMPTY = new Uint8Array(0);
const limits = publisherLimits;

function basicSize(first: number): number {
  const low = first & 0x3f;
  return low === 0 ? 2 : low === 1 ? 3 : 1;
}

/** The first byte of what else is met on such ports. */
function strangerProblem(first: number): string {
  // A TLS record (RFC 8446, 5.1): an alert or a handshake.
  if (first === 0x15 || first === 0x16) return 'the server speaks TLS there, which rtmps is for';
  if (first === 0x48) return 'the server speaks HTTP there, not RTMP';
  return 'the server does not speak RTMP';
}
