import { ChunkParser } from './chunk-parser.ts';
import { ProtocolError } from './protocol-error.ts';

export interface ServerMessagesOptions {
  /** S0 to S2 have come; `answer` is S1, which is to be sent back as C2. Good during the call only. */
  onHandshake(answer: Uint8Array): void;
  /** A whole command or control message, good during the call only. Set Chunk Size and Abort are obeyed here and do not come. */
  onMessage(type: number, body: Uint8Array): void;
}

/** What a server says to a publisher: its handshake, then messages (RTMP 1.0, sections 5.2 and 5.3.1), cut anywhere. */
export class ServerMessages {
  /** Bytes received. */
  received = 0;
  readonly #options: ServerMessagesOptions;
  readonly #parser: ChunkParser;
  /** S0, S1 and S2, until they are whole. */
  #hello: Uint8Array | undefined = new Uint8Array(1 + 2 * HANDSHAKE);
  #helloLength = 0;

  constructor(options: ServerMessagesOptions) {
    this.#options = options;
    this.#parser = new ChunkParser({
      messageBytes: MESSAGE_BYTES,
      onControl: (type, _stream, bytes, start, end) => options.onMessage(type, bytes.subarray(start, end)),
    });
  }

  /** Bytes from the server. Throws `ProtocolError` when they break the rules or a limit. */
  receive(bytes: Uint8Array): void {
    this.received += bytes.length;
    const at = this.#hello ? this.#readHello(this.#hello, bytes) : 0;
    this.#parser.feed(bytes, at, bytes.length);
  }

  /** Nothing is told any more, of what has come neither. */
  close(): void {
    this.#parser.paused = true;
  }

  #readHello(hello: Uint8Array, bytes: Uint8Array): number {
    const count = Math.min(hello.length - this.#helloLength, bytes.length);
    hello.set(bytes.subarray(0, count), this.#helloLength);
    this.#helloLength += count;
    if (count > 0 && hello[0] !== VERSION) throw new ProtocolError(strangerProblem(hello[0]));
    if (this.#helloLength === hello.length) {
      this.#hello = undefined;
      // S2 should be our C1; servers get it wrong, and nothing depends on it.
      this.#options.onHandshake(hello.subarray(1, 1 + HANDSHAKE));
    }
    return count;
  }
}

/** Bytes of C1 and C2, S1 and S2 each. */
export const HANDSHAKE = 1536;
const VERSION = 3;
/** One message of a server; its status messages are far below. */
const MESSAGE_BYTES = 64 * 1024;

/** The first byte of what else is met on such ports. */
function strangerProblem(first: number): string {
  // A TLS record (RFC 8446, 5.1): an alert or a handshake.
  if (first === 0x15 || first === 0x16) return 'the server speaks TLS there, which rtmps is for';
  if (first === 0x48) return 'the server speaks HTTP there, not RTMP';
  return 'the server does not speak RTMP';
}
