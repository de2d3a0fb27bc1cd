import { freeBytes } from '../../base/copy-bytes.ts';
import type { MemoryHold } from './memory-budget.ts';

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
   * A whole FLV VIDEODATA body (Adobe FLV 10.1 E.4.3) lies in `video.bytes[start, end)`, the last bytes in use.
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
  #memory: MemoryHold | undefined;
  #isRetired = false;

  /**
   * @param options.limit most bytes it may ever hold; `reserve` returns false beyond it.
   * @param options.memory what its bytes count against; `reserve` returns false when that is spent.
   */
  constructor(options: { initial: number; limit: number; memory?: MemoryHold }) {
    this.bytes = new Uint8Array(options.initial);
    this.limit = options.limit;
    this.#memory = options.memory;
    this.#memory?.resize(options.initial);
  }

  /** Makes room for `count` more bytes. False when that would pass the limit: the publish must end. */
  reserve(count: number): boolean {
    const need = this.length + count;
    if (need <= this.bytes.length) return true;
    if (need > this.limit) return false;
    let size = Math.max(SMALLEST, this.bytes.length * 2);
    while (size < need) size *= 2;
    size = Math.min(size, this.limit);
    if (this.#memory?.resize(size) === false) {
      // Less than twice, but never only what is needed now: that would copy the whole arena for every chunk.
      size = Math.min(need + (this.length >> 3), this.limit);
      if (!this.#memory.resize(size)) return false;
    }
    const grown = new Uint8Array(size);
    grown.set(this.bytes.subarray(0, this.length));
    this.#replace(grown);
    return true;
  }

  /**
   * Its publish is over: its bytes are freed and count no more. The connection may go on sending for a while, so it
   * still takes bytes, and frees them whenever all of them are released.
   */
  retire(): void {
    this.#memory?.resize(0);
    this.#memory = undefined;
    this.#isRetired = true;
    // A message that is being received keeps its place. What it holds is of no use any more.
    this.#replace(new Uint8Array(this.length));
  }

  /** Forgets the bytes before `upTo`; what follows moves to the front. */
  release(upTo: number): void {
    if (upTo === this.length) this.length = 0;
    else {
      this.bytes.copyWithin(0, upTo, this.length);
      this.length -= upTo;
    }
    if (this.messageStart >= 0) this.messageStart -= upTo;
    if (this.#isRetired && this.length === 0) this.#replace(new Uint8Array(0));
  }

  #replace(bytes: Uint8Array): void {
    const former = this.bytes;
    this.bytes = bytes;
    freeBytes(former);
  }
}

/** Bytes a freed arena begins with when something still comes. */
const SMALLEST = 4096;
