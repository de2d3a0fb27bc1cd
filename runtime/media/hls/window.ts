import type { Clock } from '../../../core/ports/clock.ts';
import { fragmentSize, type Run, writeFragment } from '../mp4/fragment.ts';
import type { OutputConfig } from './config.ts';
import type { BufferPool } from './pool.ts';
import { Rate } from './rate.ts';

export interface Init {
  readonly id: number;
  readonly blob: Blob;
  readonly codecs: readonly string[];
  readonly width: number | undefined;
  readonly height: number | undefined;
  readonly frameRate: number | undefined;
}

export interface Part {
  readonly offset: number;
  readonly size: number;
  /** Seconds. */
  readonly duration: number;
  readonly isIndependent: boolean;
  /** Made when somebody first asks, shared by all who do. */
  blob: Blob | undefined;
}

export interface Segment {
  readonly sequence: number;
  readonly init: Init;
  readonly isDiscontinuity: boolean;
  /** Its first sample in epoch milliseconds. */
  readonly wallStart: number;
  readonly parts: Part[];
  /** Seconds. */
  duration: number;
  length: number;
  /** Holds the parts one behind the other, until `blob` does. */
  buffer: Uint8Array | undefined;
  blob: Blob | undefined;
  /** When it left the list, epoch milliseconds. */
  leftAt: number;
}

/** The live window of one output: the segments listed, those just unlisted, and the one being made. */
export class LiveWindow {
  readonly #clock: Clock;
  readonly #pool: BufferPool;
  readonly #config: OutputConfig;
  /** Consecutive sequence numbers: kept ones first, listed ones behind, without the open one. */
  readonly #segments: Segment[] = [];
  readonly #rate = new Rate();
  #firstListed = 0;
  #open: Segment | undefined;
  #init: Init | undefined;
  #inits = 0;
  #next = 0;
  #discontinuities = 0;
  #isDiscontinuityDue = false;
  #fragments = 0;
  #target: number;
  #bytes = 0;
  #hint: { sequence: number; part: number } | undefined;
  #version = 0;
  #wallEnd = 0;
  onChange: () => void = () => {};

  constructor(options: { clock: Clock; pool: BufferPool; config: OutputConfig }) {
    this.#clock = options.clock;
    this.#pool = options.pool;
    this.#config = options.config;
    this.#target = options.config.targetDuration;
  }

  /** Grows with every change of what a playlist says. */
  get version(): number {
    return this.#version;
  }
  /** EXT-X-TARGETDURATION, whole seconds; never shrinks. */
  get targetDuration(): number {
    return this.#target;
  }
  /** Where the media ends on the wall clock, epoch milliseconds. */
  get wallEnd(): number {
    return this.#wallEnd;
  }
  /** Bytes held, the unused ends of buffers included. */
  get bytes(): number {
    return this.#bytes;
  }
  get isOpen(): boolean {
    return this.#open !== undefined;
  }
  get openBytes(): number {
    return this.#open?.length ?? 0;
  }
  get open(): Segment | undefined {
    return this.#open;
  }
  get listed(): readonly Segment[] {
    return this.#segments.slice(this.#firstListed);
  }
  get hasListed(): boolean {
    return this.#segments.length > this.#firstListed;
  }
  /** EXT-X-DISCONTINUITY-SEQUENCE: of the tags that have left the list. */
  get discontinuitySequence(): number {
    return this.#discontinuities;
  }
  /** Number of the segment that is or will be made next. */
  get nextSequence(): number {
    return this.#next;
  }
  /** The part that comes next, while media flows. */
  get hint(): { sequence: number; part: number } | undefined {
    return this.#hint;
  }
  get init(): Init | undefined {
    return this.#init;
  }
  /** Bits per second. */
  get rate(): { peak: number; average: number } {
    return this.#rate;
  }

  /** A publish comes with these numbers; they count only while nothing is listed. */
  number(options: { mediaSequence: number; discontinuitySequence: number; targetDuration: number }): void {
    this.#target = Math.max(this.#target, Math.ceil(options.targetDuration));
    if (this.#segments.length > 0 || this.#open !== undefined) return;
    this.#next = Math.max(this.#next, options.mediaSequence);
    this.#discontinuities = Math.max(this.#discontinuities, options.discontinuitySequence);
  }

  /** What follows has this init, and a discontinuity before it unless it is the first of all. */
  begin(init: Omit<Init, 'id' | 'blob'> & { readonly bytes: Uint8Array<ArrayBuffer> }): void {
    const { bytes, codecs, width, height, frameRate } = init;
    const blob = new Blob([bytes], { type: 'video/mp4' });
    this.#init = { id: this.#inits, blob, codecs, width, height, frameRate };
    this.#inits += 1;
    this.#isDiscontinuityDue = this.hasListed;
  }

  /**
   * Writes a part behind the open segment, or opens one with it. False when the window may not hold more;
   * then nothing was written.
   */
  addPart(part: {
    runs: readonly Run[];
    duration: number;
    isIndependent: boolean;
    wallStart: number;
  }): boolean {
    const size = fragmentSize(part.runs);
    this.#open ??= this.#openSegment(part.wallStart);
    const segment = this.#open;
    if (!this.#makeRoom(segment, size) || segment?.buffer === undefined) return false;
    const offset = segment.length;
    this.#fragments += 1;
    const { runs, duration, isIndependent } = part;
    writeFragment(segment.buffer, { at: offset, sequence: this.#fragments, runs });
    segment.length += size;
    segment.duration += duration;
    segment.parts.push({ offset, size, duration, isIndependent, blob: undefined });
    this.#wallEnd = part.wallStart + duration * 1000;
    this.#target = Math.max(this.#target, Math.round(segment.duration));
    return true;
  }

  closeSegment(): void {
    const segment = this.#open;
    if (segment === undefined) return;
    this.#open = undefined;
    this.#rate.add(segment.length, segment.duration, this.#target);
    this.#segments.push(segment);
    this.#next += 1;
    // Somebody fetches parts: one Blob for all of them, or each byte would be held twice.
    if (segment.parts.some((part) => part.blob !== undefined)) this.segmentBlob(segment.sequence);
  }

  /** Shows what was added. `isLive`: more will follow right away. */
  commit(options: { isLive: boolean }): void {
    this.#trim();
    this.#hint = options.isLive ? { sequence: this.#next, part: this.#open?.parts.length ?? 0 } : undefined;
    this.#version += 1;
    this.onChange();
  }

  /** The segment of this number, listed or still kept or open. */
  segment(sequence: number): Segment | undefined {
    if (sequence === this.#next) return this.#open;
    return this.#segments[this.#segments.length - (this.#next - sequence)];
  }

  /** A whole segment; undefined while it is being made. Its buffer goes back, the Blob has the bytes. */
  segmentBlob(sequence: number): Blob | undefined {
    const segment = sequence === this.#next ? undefined : this.segment(sequence);
    if (segment?.buffer !== undefined) {
      segment.blob = blobOf(segment.buffer, 0, segment.length);
      this.#bytes += segment.length - segment.buffer.length;
      this.#pool.give(segment.buffer);
      segment.buffer = undefined;
      for (const part of segment.parts) {
        if (part.blob !== undefined) this.#bytes -= part.size;
        part.blob = undefined;
      }
    }
    return segment?.blob;
  }

  partBlob(sequence: number, index: number): Blob | undefined {
    const segment = this.segment(sequence);
    const part = segment?.parts[index];
    if (segment === undefined || part === undefined) return undefined;
    // A slice shares the bytes of its Blob.
    if (segment.blob !== undefined)
      part.blob ??= segment.blob.slice(part.offset, part.offset + part.size, 'video/mp4');
    if (part.blob === undefined && segment.buffer !== undefined) {
      part.blob = blobOf(segment.buffer, part.offset, part.size);
      this.#bytes += part.size;
    }
    return part.blob;
  }

  initBlob(id: number): Blob | undefined {
    if (this.#init?.id === id) return this.#init.blob;
    return this.#segments.find((segment) => segment.init.id === id)?.init.blob;
  }

  /** Lets go of everything. */
  clear(): void {
    if (this.#open !== undefined) this.#drop(this.#open);
    for (const segment of this.#segments) this.#drop(segment);
    this.#segments.length = 0;
    this.#firstListed = 0;
    this.#open = this.#init = this.#hint = undefined;
    this.#version += 1;
  }

  #openSegment(wallStart: number): Segment | undefined {
    if (this.#init === undefined) return undefined;
    const isDiscontinuity = this.#isDiscontinuityDue;
    this.#isDiscontinuityDue = false;
    return {
      sequence: this.#next,
      init: this.#init,
      isDiscontinuity,
      wallStart,
      parts: [],
      duration: 0,
      length: 0,
      buffer: undefined,
      blob: undefined,
      leftAt: 0,
    };
  }

  /** Makes the segment's buffer large enough for `size` more bytes. */
  #makeRoom(segment: Segment | undefined, size: number): boolean {
    if (segment === undefined) return false;
    const need = segment.length + size;
    const former = segment.buffer;
    if (former !== undefined && need <= former.length) return true;
    // The first time for a whole segment as they have been; when that was too little, for half as much again.
    const usual = (this.#rate.average / 8) * this.#config.segmentTarget * 1.1;
    const buffer = this.#pool.take(
      former === undefined ? Math.max(need, usual) : Math.max(need, former.length * 1.5),
    );
    const more = buffer.length - (former?.length ?? 0);
    while (this.#bytes + more > this.#config.windowBytes && this.#firstListed > 0) this.#shift();
    if (this.#bytes + more > this.#config.windowBytes) {
      this.#pool.give(buffer);
      return false;
    }
    this.#bytes += more;
    if (former !== undefined) {
      buffer.set(former.subarray(0, segment.length));
      this.#pool.give(former);
    }
    segment.buffer = buffer;
    return true;
  }

  #trim(): void {
    const now = this.#clock.now();
    const wanted = Math.max(this.#config.window, 3 * this.#target);
    let duration = 0;
    for (let i = this.#firstListed; i < this.#segments.length; i += 1) duration += this.#segments[i].duration;
    while (this.#firstListed < this.#segments.length) {
      const first = this.#segments[this.#firstListed];
      duration -= first.duration;
      if (duration < wanted) break;
      first.leftAt = now;
      if (first.isDiscontinuity) this.#discontinuities += 1;
      this.#firstListed += 1;
    }
    while (this.#firstListed > 0 && now - this.#segments[0].leftAt >= this.#target * 1000) this.#shift();
  }

  #shift(): void {
    const first = this.#segments.shift();
    this.#firstListed -= 1;
    if (first !== undefined) this.#drop(first);
  }

  /** Its bytes go; viewers who still read hold Blobs of their own. */
  #drop(segment: Segment): void {
    if (segment.blob !== undefined) this.#bytes -= segment.length;
    segment.blob = undefined;
    for (const part of segment.parts) {
      if (part.blob !== undefined && segment.buffer !== undefined) this.#bytes -= part.size;
      part.blob = undefined;
    }
    if (segment.buffer === undefined) return;
    this.#bytes -= segment.buffer.length;
    this.#pool.give(segment.buffer);
    segment.buffer = undefined;
  }
}

function blobOf(buffer: Uint8Array, at: number, size: number): Blob {
  return new Blob([buffer.subarray(at, at + size) as Uint8Array<ArrayBuffer>], { type: 'video/mp4' });
}
