/**
 * The seam between a protocol that receives media and the packager, on the hot path.
 *
 * The receiver appends payload bytes straight into the arena of their track as they come off the socket and
 * calls the sink once a message is whole. No object, slice or Buffer is made per message: a message is the
 * range [start, end) of its arena, valid only during the call. The sink keeps what it needs by leaving it
 * in the arena and gives it back with `release`.
 */
export interface MediaSink {
  readonly video: Arena;
  readonly audio: Arena;
  /**
   * A whole FLV VIDEODATA body (Adobe FLV 10.1 E.4.3) lies in `video.bytes[start, end)`.
   * `timestamp`: milliseconds, the sender's 32-bit clock, 0..2^32-1.
   */
  onVideo(start: number, end: number, timestamp: number): void;
  /** The same for AUDIODATA (E.4.2) in `audio.bytes[start, end)`. */
  onAudio(start: number, end: number, timestamp: number): void;
  /** A script data message (`@setDataFrame`/`onMetaData`) as decoded, bounded values; rare. */
  onMetadata(values: readonly unknown[]): void;
}

/** A growing run of bytes, appended at the end, released from the front. */
export class Arena {
  bytes: Uint8Array;
  /** Bytes in use: the next byte goes to `bytes[length]`. */
  length = 0;
  /** Where the message being received began, or -1. Moves with `release`. */
  messageStart = -1;
  readonly limit: number;

  /** @param limit most bytes it may ever hold; `reserve` returns false beyond it. */
  constructor(options: { initial: number; limit: number }) {
    this.bytes = new Uint8Array(options.initial);
    this.limit = options.limit;
  }

  /** Makes room for `count` more bytes. False when that would pass the limit: the publish must end. */
  reserve(count: number): boolean {
    const need = this.length + count;
    if (need <= this.bytes.length) return true;
    if (need > this.limit) return false;
    let size = this.bytes.length * 2;
    while (size < need) size *= 2;
    const grown = new Uint8Array(Math.min(size, this.limit));
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
    return true;
  }

  /** Forgets the bytes before `upTo`; what follows moves to the front. */
  release(upTo: number): void {
    if (upTo === this.length) this.length = 0;
    else {
      this.bytes.copyWithin(0, upTo, this.length);
      this.length -= upTo;
    }
    if (this.messageStart >= 0) this.messageStart -= upTo;
  }
}
