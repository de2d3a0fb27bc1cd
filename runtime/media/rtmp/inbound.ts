import type { MediaSink } from '../publish/sink.ts';
import { ChunkParser, type ChunkParserOptions } from './chunk-parser.ts';
import { SideBuffers } from './message-inbox.ts';
import { ProtocolError } from './protocol-error.ts';
import { replies, windowAckSize } from './replies.ts';

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

/**
 * The server's side of the plain handshake (RTMP 1.0, section 5.2), for input cut anywhere.
 *
 * A C1 with a digest, as Flash and some encoders send, is echoed like any other: librtmp, ffmpeg and OBS
 * take that. S1 has version 0, which tells a peer that no digest follows.
 */
export class Handshake {
  /** C2 has been received: chunks follow. */
  isDone = false;
  readonly #write: (bytes: Uint8Array) => void;
  readonly #received = new Uint8Array(1 + HANDSHAKE);
  #length = 0;

  constructor(write: (bytes: Uint8Array) => void) {
    this.#write = write;
  }

  /** Reads `bytes[from, to)` and returns where the handshake ended, or `to`. Throws when C0 is not 3. */
  feed(bytes: Uint8Array, from: number, to: number): number {
    let at = from;
    if (this.#length < 1 + HANDSHAKE) {
      const count = Math.min(1 + HANDSHAKE - this.#length, to - at);
      this.#received.set(bytes.subarray(at, at + count), this.#length);
      this.#length += count;
      at += count;
      if (count > 0 && this.#received[0] !== VERSION) throw new ProtocolError('this is not RTMP version 3');
      if (this.#length < 1 + HANDSHAKE) return at;
      this.#answer();
    }
    // What C2 holds is of no interest: encoders get it wrong and nothing hangs on it.
    const count = Math.min(1 + 2 * HANDSHAKE - this.#length, to - at);
    this.#length += count;
    this.isDone = this.#length === 1 + 2 * HANDSHAKE;
    return at + count;
  }

  #answer(): void {
    const answer = new Uint8Array(1 + 2 * HANDSHAKE);
    answer[0] = VERSION;
    crypto.getRandomValues(answer.subarray(9, 1 + HANDSHAKE));
    answer.set(this.#received.subarray(1), 1 + HANDSHAKE);
    this.#write(answer);
  }
}

const VERSION = 3;
/** Bytes of C1 and C2, S1 and S2 each. */
export const HANDSHAKE = 1536;

/**
 * Counts received bytes and says when the peer is owed an Acknowledgement (RTMP 1.0, sections 5.4.3, 5.4.4).
 *
 * A large window can wait for the next sweep: ffmpeg and others close their socket behind their last byte,
 * and an Acknowledgement that lies unread there turns the close into a reset, which throws away the end of
 * the broadcast, FCUnpublish and all. The fewer are sent while much is under way, the rarer that is.
 */
export class Acknowledgements {
  /** Bytes received on this connection. */
  received = 0;
  #acknowledged = 0;
  #window: number;

  /** @param window bytes the peer may send between acknowledgements until it says otherwise. */
  constructor(window: number) {
    this.#window = window;
  }

  /** A Window Acknowledgement Size message in `bytes[start, end)`; one cut short is ignored. */
  setWindow(bytes: Uint8Array, start: number, end: number): void {
    if (end - start < 4) return;
    const size = new DataView(bytes.buffer, bytes.byteOffset + start).getUint32(0);
    if (size > 0) this.#window = Math.max(size, SMALLEST_WINDOW);
  }

  /** True when what was received must be acknowledged now: a small window is full. */
  count(bytes: number): boolean {
    this.received += bytes;
    return this.#window < PATIENT_WINDOW && this.take();
  }

  /** True when a window is full; the caller acknowledges `received`. */
  take(): boolean {
    if (this.received - this.#acknowledged < this.#window) return false;
    this.#acknowledged = this.received;
    return true;
  }
}

/** A smaller window would have us acknowledge every few bytes. */
const SMALLEST_WINDOW = 16_384;
/** From here on a full window waits for the sweep; a peer that stopped for it would still reach 4 MB/s. */
const PATIENT_WINDOW = 1_000_000;
