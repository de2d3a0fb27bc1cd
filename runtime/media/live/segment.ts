import type { AudioEntry } from '../mp4/init.ts';
import type { PublishedInit } from '../publish/subscriber.ts';
import type { SlabLine } from './slabs.ts';

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
}

/** Media for a viewer, who takes it at a speed of their own. */
export interface SegmentMedia {
  readonly size: number;
  /** Read it to its end or cancel it. */
  readonly body: ReadableStream<Uint8Array>;
}

/** One segment: its parts one behind the other in the line of its window. */
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
  /** Where it begins in the line of its window, and how many bytes it has. */
  readonly start: number;
  length = 0;
  /** What a playlist says of it when it is closed and listed without its parts. */
  lines: string | undefined;
  /** A playlist may have shown its parts before it was closed. */
  isShown = false;
  /** When it left the list, epoch milliseconds. */
  leftAt = 0;
  #isOpen = true;
  #hasGone = false;
  readonly #line: SlabLine;

  constructor(options: {
    line: SlabLine;
    sequence: number;
    init: Init;
    isDiscontinuity: boolean;
    isFirst: boolean;
    time: number;
    wallStart: number;
    isGap?: boolean;
  }) {
    this.#line = options.line;
    this.start = options.line.end;
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

  /** Adds a part, whose bytes are copied. */
  append(bytes: Uint8Array, { duration, isIndependent }: Pick<Part, 'duration' | 'isIndependent'>): void {
    this.parts.push({ offset: this.length, size: bytes.length, duration, isIndependent });
    this.#line.add(bytes);
    this.length += bytes.length;
    this.duration += duration;
  }

  /** Nothing comes any more. */
  close(): void {
    this.#isOpen = false;
  }

  /** All of it; undefined while it is open, and of a gap. */
  whole(): SegmentMedia | undefined {
    return this.#isOpen ? undefined : this.#media(0, this.length);
  }

  part(index: number): SegmentMedia | undefined {
    const part = this.parts[index];
    return part && this.#media(part.offset, part.offset + part.size);
  }

  /** A copy of a part, for who is no viewer; undefined: there is no such part, or it has gone. */
  read(index: number): Uint8Array<ArrayBuffer> | undefined {
    const part = this.parts[index];
    if (part === undefined || this.#hasGone) return undefined;
    const at = this.start + part.offset;
    return this.#line.copy(at, at + part.size);
  }

  /** Nothing of it is read any more; viewers who have begun get the rest. */
  drop(): void {
    this.#isOpen = false;
    this.#hasGone = true;
  }

  #media(from: number, to: number): SegmentMedia | undefined {
    if (this.#hasGone || from === to) return undefined;
    return { size: to - from, body: this.#line.stream(this.start + from, this.start + to) };
  }
}
