import { type Run, writeFragment } from '../mp4/fragment.ts';
import type { AudioEntry } from '../mp4/init.ts';
import type { PublishedInit } from '../publish/subscriber.ts';
import type { BufferPool } from './pool.ts';

export interface Init extends Omit<PublishedInit, 'bytes'> {
  readonly id: number;
  readonly blob: Blob;
  /** Its track of sound, for an init of other pictures with the same sound. */
  readonly audio: AudioEntry | undefined;
}

export interface Part {
  readonly offset: number;
  readonly size: number;
  /** Seconds. */
  readonly duration: number;
  /** It contains a key frame, not necessarily in front (RFC 8216bis 4.4.4.9). */
  readonly isIndependent: boolean;
  /** Made when somebody first asks, shared by all who do. */
  blob: Blob | undefined;
}

/**
 * One segment: its parts one behind the other in a buffer of the pool, until somebody asks for it. Then a
 * Blob has the bytes and the buffer goes back.
 */
export class Segment {
  readonly sequence: number;
  readonly init: Init;
  readonly isDiscontinuity: boolean;
  /** It has no media (EXT-X-GAP): its URI is listed, and answers 404. */
  readonly isGap: boolean;
  /** Nothing is listed before it that a player could come from. */
  readonly isFirst: boolean;
  /** Its first sample: decode time and epoch, both in milliseconds. Of a gap only the second is known. */
  readonly time: number;
  readonly wallStart: number;
  readonly parts: Part[] = [];
  /** Seconds. */
  duration = 0;
  length = 0;
  /** What a playlist says of it when it is closed and listed without its parts. */
  lines: string | undefined;
  /** A playlist may have shown its parts before it was closed. */
  isShown = false;
  /** When it left the list, epoch milliseconds. */
  leftAt = 0;
  readonly #pool: BufferPool;
  #isOpen = true;
  #buffer: Uint8Array | undefined;
  #blob: Blob | undefined;
  #copied = 0;

  constructor(options: {
    pool: BufferPool;
    sequence: number;
    init: Init;
    isDiscontinuity: boolean;
    isFirst: boolean;
    time: number;
    wallStart: number;
    isGap?: boolean;
  }) {
    this.#pool = options.pool;
    this.sequence = options.sequence;
    this.init = options.init;
    this.isDiscontinuity = options.isDiscontinuity;
    this.isGap = options.isGap ?? false;
    this.isFirst = options.isFirst;
    this.time = options.time;
    this.wallStart = options.wallStart;
  }

  /** More parts may come. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Bytes it keeps, the unused end of its buffer included. */
  get kept(): number {
    return this.#buffer?.length ?? this.#blob?.size ?? 0;
  }

  /** Bytes that are held twice, because viewers asked for parts while it was open. */
  get copied(): number {
    return this.#copied;
  }

  /** Bytes its buffer has room for in all. */
  get capacity(): number {
    return this.#buffer?.length ?? 0;
  }

  /** Goes on in this buffer, which is larger, and gives back the one before. */
  move(buffer: Uint8Array): void {
    const former = this.#buffer;
    if (former !== undefined) {
      buffer.set(former.subarray(0, this.length));
      this.#pool.give(former);
    }
    this.#buffer = buffer;
  }

  /** Writes a part of `size` bytes, for which there is room. `fragment`: its number in the whole output. */
  append(part: Omit<Part, 'offset' | 'blob'> & { runs: readonly Run[]; fragment: number }): void {
    const { runs, fragment, size, duration, isIndependent } = part;
    const offset = this.length;
    writeFragment(this.#buffer as Uint8Array, { at: offset, sequence: fragment, runs });
    this.length += size;
    this.duration += duration;
    this.parts.push({ offset, size, duration, isIndependent, blob: undefined });
  }

  /** The bytes of the part appended last; good until the next change. */
  newest(): Uint8Array {
    const { offset, size } = this.parts[this.parts.length - 1];
    return (this.#buffer as Uint8Array).subarray(offset, offset + size);
  }

  /** Nothing comes any more. */
  close(): void {
    this.#isOpen = false;
    // Somebody fetches parts: one Blob for all of them, or each byte would be held twice.
    if (this.#copied > 0) this.whole();
  }

  /** All of it; undefined while it is open. */
  whole(): Blob | undefined {
    if (this.#isOpen || this.#buffer === undefined) return this.#blob;
    this.#blob = blobOf(this.#buffer, 0, this.length);
    this.#pool.give(this.#buffer);
    this.#buffer = undefined;
    this.#forgetParts();
    return this.#blob;
  }

  part(index: number): Blob | undefined {
    const part = this.parts[index];
    if (part === undefined || part.blob !== undefined) return part?.blob;
    const { offset, size } = part;
    // A slice shares the bytes of its Blob.
    if (!this.#isOpen) part.blob = this.whole()?.slice(offset, offset + size, TYPE);
    else if (this.#buffer !== undefined) {
      part.blob = blobOf(this.#buffer, offset, size);
      this.#copied += size;
    }
    return part.blob;
  }

  /**
   * The bytes of a part for who is no viewer: a copy, because buffers go back to the pool, or a slice of the Blob that viewers
   * were given. Makes no Blob; undefined: there is no such part, or it has gone.
   */
  read(index: number): Uint8Array | Blob | undefined {
    const part = this.parts[index];
    if (part === undefined) return undefined;
    const { offset, size } = part;
    return this.#buffer?.slice(offset, offset + size) ?? this.#blob?.slice(offset, offset + size);
  }

  /** Its bytes go; viewers who still read hold Blobs of their own. */
  drop(): void {
    this.#isOpen = false;
    if (this.#buffer !== undefined) this.#pool.give(this.#buffer);
    this.#buffer = this.#blob = undefined;
    this.#forgetParts();
  }

  #forgetParts(): void {
    for (const part of this.parts) part.blob = undefined;
    this.#copied = 0;
  }
}

const TYPE = 'video/mp4';

function blobOf(buffer: Uint8Array, at: number, size: number): Blob {
  return new Blob([buffer.subarray(at, at + size) as Uint8Array<ArrayBuffer>], { type: TYPE });
}
