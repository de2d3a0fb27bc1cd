import type { Clock } from '../../../core/ports/clock.ts';
import { fragmentSize, type Run, writeFragment } from '../mp4/fragment.ts';
import type { AudioEntry } from '../mp4/init.ts';
import type { MemoryHold } from '../publish/memory-budget.ts';
import type { PublishedInit, Subscriber } from '../publish/subscriber.ts';
import { type OutputConfig, segmentTarget, targetDuration } from './config.ts';
import type { BufferPool } from './pool.ts';
import { Rate } from './rate.ts';
import { type Init, Segment } from './segment.ts';
import { SlabLine, type Slabs } from './slabs.ts';

/** A part to be made of what the runs hold. */
interface NewPart {
  readonly runs: readonly Run[];
  /** Seconds. */
  readonly duration: number;
  readonly isIndependent: boolean;
  /** Its first sample: decode time and epoch, both in milliseconds. */
  readonly time: number;
  readonly wallStart: number;
}

/** What the parts that follow need. */
export interface NewInit extends PublishedInit {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly audio?: AudioEntry | undefined;
}

/** Where a playlist begins to count. */
export interface WindowNumbers {
  readonly mediaSequence: number;
  readonly discontinuitySequence: number;
  /** Seconds. */
  readonly targetDuration: number;
  readonly isReturn?: boolean | undefined;
}

export interface LiveWindowOptions {
  readonly clock: Clock;
  /** Where a part is written before it is kept. */
  readonly pool: BufferPool;
  /** Where it is kept. */
  readonly slabs: Slabs;
  readonly config: OutputConfig;
  readonly memory?: MemoryHold | undefined;
}

/** The live window of one playlist: the segments listed, those just unlisted, and the one being made. */
export class LiveWindow {
  readonly #clock: Clock;
  readonly #pool: BufferPool;
  readonly #line: SlabLine;
  readonly #config: OutputConfig;
  readonly #memory: MemoryHold | undefined;
  /** `addPart` failed for want of memory in this process, and not by the limit of one window. */
  isOutOfMemory = false;
  /** Consecutive sequence numbers: kept ones first, listed ones behind, without the open one. */
  readonly #segments: Segment[] = [];
  #firstListed = 0;
  #isDiscontinuityDue = false;
  /** A gap is to be listed in front of what comes: players come from a playlist that is gone. */
  #isGapDue = false;
  #fragments = 0;
  /** When somebody last asked for a playlist of it. */
  #askedAt: number;
  /** Bits per second. */
  rate = new Rate();
  /** The segment being made. */
  open: Segment | undefined;
  init: Init | undefined;
  /** How many inits there were: the number of the next one. */
  inits = 0;
  /** Number of the segment that is or will be made next. */
  nextSequence = 0;
  /** EXT-X-DISCONTINUITY-SEQUENCE: of the tags that have left the list. */
  discontinuitySequence = 0;
  /** EXT-X-TARGETDURATION, whole seconds; never shrinks. */
  targetDuration = targetDuration;
  /** The part that comes next, while media flows. */
  hint: { sequence: number; part: number } | undefined;
  /** Grows with every change of what a playlist says. */
  version = 0;
  /** Where the media ends on the wall clock, epoch milliseconds, and on its timeline. */
  wallEnd = 0;
  end = 0;
  onChange: () => void = () => {};
  /** Of the publish that is running. */
  subscribers: readonly Subscriber[] = [];

  constructor(options: LiveWindowOptions) {
    this.#clock = options.clock;
    this.#pool = options.pool;
    this.#line = new SlabLine(options.slabs);
    this.#askedAt = options.clock.now();
    this.#config = options.config;
    this.#memory = options.memory;
  }

  /**
   * Seconds from the end of the playlist beyond which a delta update leaves segments out: six target durations,
   * the least that RFC 8216bis 4.4.3.8 allows. Infinity where so little is listed that none ever would.
   */
  get skipBoundary(): number {
    const boundary = 6 * this.targetDuration;
    return this.#wanted >= boundary + segmentTarget ? boundary : Number.POSITIVE_INFINITY;
  }
  /** Bytes of the media that is kept. Its first and its last slab may be no more than begun. */
  get bytes(): number {
    const first = this.#segments[0] ?? this.open;
    return first === undefined ? 0 : this.#line.end - first.start;
  }
  get listed(): readonly Segment[] {
    return this.#segments.slice(this.#firstListed);
  }
  /** Media is listed, and not a gap alone. */
  get hasListed(): boolean {
    return this.#segments.at(-1)?.isGap === false && this.#segments.length > this.#firstListed;
  }
  /** No player comes from earlier segments, of this playlist or of one that it follows. */
  get isFresh(): boolean {
    return this.#segments.length === this.#firstListed && !this.#isGapDue;
  }
  /** The numbers with which a playlist that follows this one begins. */
  get reached(): { mediaSequence: number; discontinuitySequence: number } {
    let discontinuitySequence = this.discontinuitySequence + 1;
    for (let i = this.#firstListed; i < this.#segments.length; i += 1)
      if (this.#segments[i].isDiscontinuity) discontinuitySequence += 1;
    return { mediaSequence: this.nextSequence, discontinuitySequence };
  }

  /**
   * A publish comes with these numbers; they count only while nothing is listed. `isReturn`: viewers come from a
   * playlist that another process had. Its numbers do not meet those of this one, and hls.js 1.7 then finds neither
   * where to go on nor that there is a seam. So a gap stands first, which ends the media of before, and what is
   * new follows behind a discontinuity.
   */
  number(options: WindowNumbers): void {
    this.targetDuration = Math.max(this.targetDuration, Math.ceil(options.targetDuration));
    if (this.#segments.length > 0 || this.open !== undefined) return;
    this.#isGapDue = options.isReturn ?? false;
    const discontinuities = options.discontinuitySequence - (this.#isGapDue ? 1 : 0);
    this.nextSequence = Math.max(this.nextSequence, options.mediaSequence);
    this.discontinuitySequence = Math.max(this.discontinuitySequence, discontinuities);
  }

  /** What follows has this init, and a discontinuity before it unless it is the first of all. */
  begin({ bytes, audio, ...told }: NewInit): void {
    const blob = new Blob([bytes], { type: 'video/mp4' });
    this.init = { ...told, id: this.inits, blob, audio };
    this.inits += 1;
    this.#isDiscontinuityDue = !this.isFresh;
    for (const subscriber of this.subscribers) subscriber.begin?.({ ...told, bytes });
  }

  /**
   * Writes a part behind the open segment, or opens one with it. False when the window may not hold more;
   * then it is not kept.
   */
  addPart(part: NewPart): boolean {
    const { runs, duration, isIndependent, time, wallStart } = part;
    const size = fragmentSize(runs);
    const segment = this.open ?? this.#openSegment(part);
    const startsSegment = segment !== this.open;
    this.#fragments += 1;
    const buffer = this.#pool.take(size);
    writeFragment(buffer, { at: 0, sequence: this.#fragments, runs });
    const bytes = buffer.subarray(0, size);
    const isKept = segment !== undefined && this.#makeRoom(size);
    if (isKept) {
      if (startsSegment) this.#isDiscontinuityDue = false;
      this.open = segment;
      segment.append(bytes, { duration, isIndependent });
      this.wallEnd = wallStart + duration * 1000;
      this.end = time + duration * 1000;
    }
    // Where there is no room for viewers to see it, subscribers get it all the same, as the last part of its publish.
    const published = { time, wallStart, duration, isIndependent, startsSegment };
    for (const subscriber of this.subscribers) subscriber.part?.(bytes, published);
    this.#pool.give(buffer);
    // As EXTINF says it, with five digits: 6.4999999 is 6.50000 there, and 7 when rounded (4.4.3.1).
    if (isKept) this.targetDuration = Math.max(this.targetDuration, Math.round(segment.duration + 0.000_005));
    return isKept;
  }

  closeSegment(): void {
    const segment = this.open;
    if (segment === undefined) return;
    this.open = undefined;
    this.rate.add(segment.length, segment.duration, this.targetDuration);
    this.#segments.push(segment);
    this.nextSequence += 1;
    segment.close();
  }

  /** Shows what was added. `isLive`: more will follow right away. */
  commit(options: { isLive: boolean }): void {
    this.#trim();
    this.hint = options.isLive
      ? { sequence: this.nextSequence, part: this.open?.parts.length ?? 0 }
      : undefined;
    if (this.open !== undefined) this.open.isShown = true;
    this.version += 1;
    this.onChange();
  }

  /** Somebody asks for a playlist of it, or gets one: segments stay for a while after they have left it. */
  asked(): void {
    this.#askedAt = this.#clock.now();
  }

  /** The segment of this number, listed or still kept or open. */
  segment(sequence: number): Segment | undefined {
    if (sequence === this.nextSequence) return this.open;
    return this.#segments[this.#segments.length - (this.nextSequence - sequence)];
  }

  /** Discontinuity sequence number (RFC 8216bis 4.4.3.3) of a segment that is still here. */
  discontinuitiesUpTo(sequence: number): number {
    let count = this.discontinuitySequence;
    for (const [index, segment] of this.#segments.entries()) {
      if (!segment.isDiscontinuity) continue;
      if (index >= this.#firstListed && segment.sequence <= sequence) count += 1;
      else if (index < this.#firstListed && segment.sequence > sequence) count -= 1;
    }
    return this.open?.isDiscontinuity && this.nextSequence <= sequence ? count + 1 : count;
  }

  initBlob(id: number): Blob | undefined {
    if (this.init?.id === id) return this.init.blob;
    return this.#segments.find((segment) => segment.init.id === id)?.init.blob;
  }

  /** Lets go of everything. What is made afterwards has other names than anything before. */
  clear(): void {
    if (this.open !== undefined) this.nextSequence += 1;
    this.open?.drop();
    for (const segment of this.#segments) segment.drop();
    this.#segments.length = 0;
    this.#line.clear();
    this.#firstListed = 0;
    this.open = this.init = this.hint = undefined;
    this.#isDiscontinuityDue = this.#isGapDue = false;
    this.rate = new Rate();
    this.#memory?.resize(0);
    this.version += 1;
  }

  /** At least this many seconds are listed. */
  get #wanted(): number {
    return Math.max(this.#config.window, 3 * this.targetDuration);
  }

  #openSegment({ time, wallStart }: NewPart): Segment | undefined {
    const init = this.init;
    if (init === undefined) return undefined;
    if (this.#isGapDue) this.#listGap(init, wallStart);
    const isDiscontinuity = this.#isDiscontinuityDue;
    const isFirst = this.isFresh;
    return new Segment({
      line: this.#line,
      sequence: this.nextSequence,
      init,
      isDiscontinuity,
      isFirst,
      time,
      wallStart,
    });
  }

  /** A gap of a target duration that ends at `wallEnd`, epoch milliseconds. */
  #listGap(init: Init, wallEnd: number): void {
    this.#isGapDue = false;
    const duration = this.targetDuration;
    const gap = new Segment({
      line: this.#line,
      sequence: this.nextSequence,
      init,
      isDiscontinuity: false,
      isFirst: true,
      isGap: true,
      time: 0,
      wallStart: wallEnd - duration * 1000,
    });
    gap.duration = duration;
    gap.close();
    this.#segments.push(gap);
    this.nextSequence += 1;
  }

  /** Whether `more` bytes may be kept. What only lags behind the list goes before it gives up. */
  #makeRoom(more: number): boolean {
    const most = this.#config.windowBytes - more;
    while (this.bytes > most && this.#firstListed > 0) this.#shift();
    const fits = this.bytes <= most;
    this.isOutOfMemory = fits && !this.#mayKeep(more);
    return fits && !this.isOutOfMemory;
  }

  #mayKeep(more: number): boolean {
    if (this.#memory === undefined) return true;
    while (!this.#memory.resize(this.bytes + more)) {
      if (this.#firstListed === 0) return false;
      this.#shift();
    }
    return true;
  }

  #trim(): void {
    const now = this.#clock.now();
    const wanted = this.#wanted;
    let duration = 0;
    for (let i = this.#firstListed; i < this.#segments.length; i += 1) duration += this.#segments[i].duration;
    while (this.#firstListed < this.#segments.length) {
      const first = this.#segments[this.#firstListed];
      duration -= first.duration;
      if (duration < wanted) break;
      first.leftAt = now;
      if (first.isDiscontinuity) this.discontinuitySequence += 1;
      this.#firstListed += 1;
    }
    // Players fetch what they saw in a playlist a moment ago. Nobody has seen one that lists what has left the list.
    const keptFor = now - this.#askedAt > wanted * 1000 ? 0 : this.targetDuration * 1000;
    while (
      this.#firstListed > MOST_UNLISTED ||
      (this.#firstListed > 0 && now - this.#segments[0].leftAt >= keptFor)
    )
      this.#shift();
  }

  #shift(): void {
    this.#segments.shift()?.drop();
    this.#firstListed -= 1;
    this.#line.drop((this.#segments[0] ?? this.open)?.start ?? this.#line.end);
    this.#memory?.resize(this.bytes);
  }
}

/** Segments kept after they left the list; media far faster than real time loses them before a target duration is over. */
const MOST_UNLISTED = 100;
