import { publisherLimits } from './limits.ts';
import { ProtocolError } from './protocol-error.ts';

export interface ServerMessagesOptions {
  /** S0 to S2 have come; `answer` is S1, which is to be sent back as C2. Good during the call only. */
  onHandshake(answer: Uint8Array): void;
  /** A whole message. Set Chunk Size is obeyed here and does not come. */
  onMessage(type: number, body: Uint8Array): void;
}

/**
 * What a server says to a publisher: its handshake, then messages (RTMP 1.0, sections 5.2 and 5.3.1). They
 * are few and small, so this is written plainly; the other direction has `ChunkParser`.
 */
export class ServerMessages {
  /** Bytes received. */
  received = 0;
  readonly #options: ServerMessagesOptions;
  readonly #incoming = new Map<number, Incoming>();
  #inbox = new Uint8Array(0);
  #isShaken = false;
  #isClosed = false;
  #chunkSize = 128;

  constructor(options: ServerMessagesOptions) {
    this.#options = options;
  }

  /** Bytes from the server. Throws `ProtocolError` when they break the rules or a limit. */
  receive(bytes: Uint8Array): void {
    this.received += bytes.length;
    const joined = new Uint8Array(this.#inbox.length + bytes.length);
    joined.set(this.#inbox);
    joined.set(bytes, this.#inbox.length);
    this.#inbox = joined;
    let at = 0;
    for (let next = this.#read(at); next > at; next = this.#read(at)) at = next;
    this.#inbox = this.#inbox.slice(at);
  }

  /** Nothing is told any more, of what has come neither. */
  close(): void {
    this.#isClosed = true;
  }

  /** Takes the handshake or one chunk from the inbox; answers where it ended, or `at` when it is not whole. */
  #read(at: number): number {
    if (this.#isClosed) return at;
    if (this.#isShaken) return this.#readChunk(at);
    const inbox = this.#inbox;
    if (inbox.length < 1 + 2 * HANDSHAKE) return at;
    if (inbox[0] !== 3) throw new ProtocolError('the server does not speak RTMP');
    this.#isShaken = true;
    this.#options.onHandshake(inbox.subarray(1, 1 + HANDSHAKE));
    return 1 + 2 * HANDSHAKE;
  }

  #readChunk(at: number): number {
    const inbox = this.#inbox;
    const left = inbox.length - at;
    if (left < 1) return at;
    const low = inbox[at] & 0x3f;
    const basic = low === 0 ? 2 : low === 1 ? 3 : 1;
    if (left < basic) return at;
    const id = low > 1 ? low : 64 + inbox[at + 1] + (low === 1 ? inbox[at + 2] * 256 : 0);
    const format = inbox[at] >> 6;
    const header = basic + [11, 7, 3, 0][format];
    if (left < header) return at;
    const known = this.#incoming.get(id);
    if (!known && format !== 0) throw new ProtocolError('a chunk continues what never began');
    const view = new DataView(inbox.buffer, at + basic);
    const isExtended = format === 3 ? known!.isExtended : view.getUint32(0) >>> 8 === 0xffffff;
    const length = format < 2 ? view.getUint32(2) & 0xffffff : known!.body.length;
    const type = format < 2 ? inbox[at + basic + 6] : known!.type;
    const received = known && format === 3 ? known.received : 0;
    if (length > LONGEST) throw new ProtocolError('the server sent a message that is too long');
    const payloadAt = at + header + (isExtended ? 4 : 0);
    const count = Math.min(this.#chunkSize, length - received);
    if (inbox.length < payloadAt + count) return at;

    const message = received > 0 ? known! : { type, isExtended, body: new Uint8Array(length), received: 0 };
    message.body.set(inbox.subarray(payloadAt, payloadAt + count), received);
    message.received = received + count;
    this.#incoming.set(id, message);
    if (this.#incoming.size > MOST_CHUNK_STREAMS)
      throw new ProtocolError('the server uses too many chunk streams');
    if (message.received === length) {
      message.received = 0;
      this.#tell(type, message.body);
    }
    return payloadAt + count;
  }

  #tell(type: number, body: Uint8Array): void {
    if (type !== SET_CHUNK_SIZE) {
      this.#options.onMessage(type, body);
      return;
    }
    const size = body.length >= 4 ? new DataView(body.buffer).getUint32(0) : 0;
    if (size < 1) throw new ProtocolError('the server set a chunk size of zero');
    this.#chunkSize = Math.min(size, LONGEST);
  }
}

interface Incoming {
  type: number;
  isExtended: boolean;
  body: Uint8Array;
  received: number;
}

/** Bytes of C1 and C2, S1 and S2 each. */
export const HANDSHAKE = 1536;
const SET_CHUNK_SIZE = 1;
/** What a server may send us: status messages are far below. */
const LONGEST = publisherLimits.messageBytes.value;
const MOST_CHUNK_STREAMS = publisherLimits.chunkStreams.value;
