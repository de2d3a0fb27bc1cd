import type { MediaSink } from '../publish/sink.ts';
import { Acknowledgements } from './acknowledgements.ts';
import { ChunkParser, type ChunkParserOptions } from './chunk-parser.ts';
import { Handshake } from './handshake.ts';
import { ProtocolError } from './protocol-error.ts';
import { replies, windowAckSize } from './replies.ts';
import { SideBuffers } from './side-buffers.ts';

export interface InboundOptions {
  /** Most bytes of one message. */
  readonly messageBytes: number;
  write(bytes: Uint8Array): void;
  readonly onControl: ChunkParserOptions['onControl'];
}

/**
 * The bytes of one peer on their way to messages: the handshake, then chunks. Counts them, for the
 * acknowledgements and against who sends much and publishes nothing, and keeps them while it is held.
 */
export class Inbound {
  readonly #options: InboundOptions;
  readonly #parser: ChunkParser;
  readonly #acknowledgements = new Acknowledgements(windowAckSize);
  /** What came while it was held. */
  readonly #queue: SideBuffers;
  #handshake: Handshake | undefined;
  #isHeld = false;
  #isPublishing = false;
  /** Bytes received since the last publish ended, or since the beginning. */
  #unpublished = 0;

  constructor(options: InboundOptions) {
    const { messageBytes, onControl } = options;
    this.#options = options;
    this.#handshake = new Handshake((bytes) => options.write(bytes));
    this.#parser = new ChunkParser({ messageBytes, onControl });
    this.#queue = new SideBuffers({
      limit: QUEUED_BYTES,
      complaint: 'too many bytes came before the publish was answered',
    });
  }

  /** Bytes from the peer, read during the call only. Throws `ProtocolError`, and whatever the sink throws. */
  feed(bytes: Uint8Array): void {
    const { length } = bytes;
    this.#count(length);
    let at = 0;
    if (this.#handshake !== undefined) {
      at = this.#handshake.feed(bytes, 0, length);
      if (!this.#handshake.isDone) return;
      this.#handshake = undefined;
    }
    this.#parse(bytes, at);
  }

  /** Nothing is parsed behind the message of now until `resume`. */
  hold(): void {
    this.#isHeld = true;
    this.#parser.paused = true;
  }

  /** Goes on with what was kept. */
  resume(): void {
    this.#isHeld = false;
    this.#parser.paused = false;
    this.#parse(this.#queue.take(0), 0);
  }

  /** A publish begins: its media goes to the sink. */
  attach(sink: MediaSink, streamId: number): void {
    this.#isPublishing = true;
    this.#parser.attach(sink, streamId);
  }

  /** It is over: from here on nothing reaches the sink. */
  detach(): void {
    this.#isPublishing = false;
    this.#unpublished = 0;
    this.#parser.detach();
    this.#queue.drop(0);
  }

  /** What still comes is not even parsed. */
  close(): void {
    this.#isHeld = false;
    this.#parser.paused = true;
  }

  /** A Window Acknowledgement Size message in `bytes[start, end)`. */
  setWindow(bytes: Uint8Array, start: number, end: number): void {
    this.#acknowledgements.setWindow(bytes, start, end);
  }

  /** Acknowledges what came, if that is due. */
  sweep(): void {
    if (this.#acknowledgements.take()) this.#acknowledge();
  }

  #parse(bytes: Uint8Array, from: number): void {
    const { length } = bytes;
    const at = this.#isHeld ? from : this.#parser.feed(bytes, from, length);
    // Held by a message in these bytes, or before.
    if (at < length && this.#isHeld) this.#queue.append(0, bytes, at, length - at);
  }

  #count(length: number): void {
    if (this.#acknowledgements.count(length)) this.#acknowledge();
    if (this.#isPublishing) return;
    this.#unpublished += length;
    if (this.#unpublished > UNPUBLISHED_BYTES)
      throw new ProtocolError('too many bytes came without a publish');
  }

  #acknowledge(): void {
    this.#options.write(replies.acknowledgement(this.#acknowledgements.received));
  }
}

/** Input kept while a stream key is checked. */
const QUEUED_BYTES = 256 * 1024;
/** Received without a publish running. */
const UNPUBLISHED_BYTES = 1024 * 1024;
