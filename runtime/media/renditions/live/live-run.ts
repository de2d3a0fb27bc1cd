import type { RenditionProfile } from '../../../../core/ports/transcoder.ts';
import type { Init } from '../../live/segment.ts';
import type { LiveWindow } from '../../live/window.ts';
import type { MemoryShare } from '../../publish/memory-budget.ts';
import { type FedPictures, LadderBroken, LadderLost, type LadderMedia, type LadderRun } from '../ladder.ts';
import { OutputReader, type OutputSink, type OutputTrack } from './output-reader.ts';
import { PictureOrder } from './picture-order.ts';
import { PictureQueue } from './picture-queue.ts';
import type { Place } from './publishes.ts';
import { readSourcePart, type SourcePart } from './source-part.ts';

/** Ticks by which a picture may be shown later than all that the process was given: a second. */
const maxAhead = 90_000;

/** What a run asks of its ladder. */
export interface RunHost {
  readonly source: LiveWindow;
  readonly memory: MemoryShare | undefined;
  readonly profiles: readonly RenditionProfile[];
  /** Whether nothing comes any more that needs this init. */
  isOver(init: Init): boolean;
  /** Resolves when the source has changed, or something else that a run waits for. */
  change(signal: AbortSignal): Promise<void>;
  /** What a process will encode. Throws when that does not fit what is there already. */
  accept(run: LiveRun, tracks: readonly OutputTrack[]): void;
  /** Makes these parts of all renditions. Throws when there is no room for them. */
  make(run: LiveRun, ready: ReadyParts): void;
  /** These parts cannot be made: some rendition has no picture of them. */
  skip(run: LiveRun, ready: ReadyParts): void;
}

export interface LiveRunOptions {
  /** The first part that is made. */
  readonly place: Place;
  /** The segment that is fed first: a decoder can begin with it. */
  readonly feedFrom: number;
  readonly init: Init & { readonly width: number; readonly height: number };
  /** Discontinuity sequence number of its segments. */
  readonly discontinuities: number;
  /** Ticks; pictures that are shown before are not to come. */
  readonly from: number | undefined;
}

/** One process: what it is fed from the window of the source, and what becomes of what it gives back. */
export class LiveRun implements LadderRun, OutputSink {
  readonly init: Init;
  readonly discontinuities: number;
  readonly video: LadderRun['video'];
  readonly queues: readonly PictureQueue[];
  /** Of each rendition; undefined before its `moov` box. */
  tracks: readonly OutputTrack[] | undefined;
  pictures = 0;
  readonly #host: RunHost;
  readonly #from: number | undefined;
  readonly #place: Place;
  readonly #feedFrom: number;
  readonly #order = new PictureOrder();
  readonly #output: OutputReader;
  /** Fed, and not made yet. */
  readonly #parts: SourcePart[] = [];
  /** When the first picture is decoded that is not made yet, ticks. */
  #madeUntil = Number.NEGATIVE_INFINITY;
  #isFed = false;
  /** Nothing more comes of it. */
  hasEnded = false;
  #fault: Error | undefined;

  constructor(host: RunHost, { place, feedFrom, init, discontinuities, from }: LiveRunOptions) {
    const { memory } = host;
    this.#host = host;
    this.#place = place;
    this.#feedFrom = feedFrom;
    this.#from = from;
    this.init = init;
    this.discontinuities = discontinuities;
    const { codecs, width, height, frameRate } = init;
    this.video = { codec: codecs[0], width, height, frameRate };
    this.queues = host.profiles.map(
      ({ fps }) => new PictureQueue({ isEach: fps === 0, memory: memory?.hold({ isExpendable: true }) }),
    );
    this.#output = new OutputReader(this, { tracks: this.queues.length });
  }

  get from(): number | undefined {
    return this.#from === undefined ? undefined : this.#from / 90_000;
  }

  async *media(signal: AbortSignal): AsyncGenerator<LadderMedia> {
    const { source } = this.#host;
    let sequence = this.#feedFrom;
    let part = 0;
    yield { bytes: await this.init.blob.bytes(), pictures: undefined };
    while (!this.#isDone(signal)) {
      const segment = source.segment(sequence);
      if (segment === undefined && sequence < source.nextSequence)
        throw new LadderLost(`segment ${sequence} has left the live window`);
      if (segment !== undefined && segment.init.id !== this.init.id) break;
      const bytes = segment?.read(part);
      if (segment !== undefined && bytes !== undefined) {
        const { duration } = segment.parts[part];
        const before = segment.parts.slice(0, part).reduce((sum, { duration }) => sum + duration, 0);
        const wallStart = segment.wallStart + before * 1000;
        const pictures = this.#plan(bytes, { sequence, index: part, duration, wallStart });
        part += 1;
        yield { bytes, pictures };
      } else if (segment !== undefined && !segment.isOpen) {
        sequence += 1;
        part = 0;
      } else if (segment === undefined && this.#host.isOver(this.init)) break;
      else await this.#host.change(signal);
    }
    if (!this.#isDone(signal)) this.#isFed = true;
  }

  take(bytes: Uint8Array): void {
    if (this.#fault !== undefined && !(this.#fault instanceof LadderLost)) throw this.#fault;
    if (this.hasEnded) return;
    try {
      this.#output.take(bytes);
      if (!this.hasEnded) this.#assemble({ isOver: false });
    } catch (error) {
      this.#fault ??= error as Error;
      throw error;
    }
  }

  end({ isWhole }: { readonly isWhole: boolean }): void {
    if (this.hasEnded) return;
    if (isWhole && this.#isFed && this.#fault === undefined)
      try {
        this.#assemble({ isOver: true });
      } catch (error) {
        this.#fault = error as Error;
      }
    this.#close();
  }

  /** It counts no more: `media` throws this error. */
  fail(error: Error): void {
    this.#fault ??= error;
    this.#close();
  }

  /** When the last picture is shown that is decoded before `time`, ticks. */
  shownBefore(time: number): number {
    return this.#order.shownBefore(time);
  }

  onTracks(tracks: readonly OutputTrack[]): void {
    this.#host.accept(this, tracks);
    this.tracks = tracks;
  }

  onPicture(track: number, bytes: Uint8Array, shown: number, isSync: boolean): void {
    const queue = this.queues[track];
    this.pictures += 1;
    queue.follow(shown);
    if (this.#from !== undefined && shown < this.#from)
      throw new LadderBroken(
        `a picture is shown at ${shown}, before the first that was asked for, ${this.#from}`,
      );
    if (shown > this.#order.latest + maxAhead)
      throw new LadderBroken(
        `a picture is shown at ${shown}, and it was given none after ${this.#order.latest}`,
      );
    const time = this.#placeOf(queue, shown);
    if (time !== undefined) queue.push(time, shown, bytes, isSync);
  }

  /**
   * When a picture is decoded; undefined: it has no place. That happens where a decoder gives more pictures than there are times
   * of decoding: in front of the first key frame, and of one whose segment begins with an open GOP. No picture needs those.
   */
  #placeOf(queue: PictureQueue, shown: number): number | undefined {
    if (!this.#order.find(shown)) return undefined;
    let { time } = this.#order;
    const { end } = this.#order;
    if (time < this.#madeUntil) {
      if (end <= this.#madeUntil) return undefined;
      time = this.#madeUntil;
    }
    time = Math.max(time, queue.newest + 1);
    return time < end ? time : undefined;
  }

  /** What was read is handed out: its pictures may come back. */
  #plan(
    bytes: Uint8Array,
    part: Pick<SourcePart, 'sequence' | 'index' | 'duration' | 'wallStart'>,
  ): FedPictures {
    const { pictures, sound } = readSourcePart(bytes);
    const { dts: start, rows } = pictures;
    const end = start + pictures.ticks;
    this.#order.add(pictures, { startsSegment: part.index === 0 });
    const first = this.#place;
    const isBefore =
      part.sequence === first.sequence ? part.index < first.part : part.sequence < first.sequence;
    if (isBefore) this.#madeUntil = end;
    else this.#parts.push({ ...part, start, end, pictures: rows.count, sound });
    return { count: rows.count, start: start / 90_000, end: end / 90_000 };
  }

  #assemble({ isOver }: { isOver: boolean }): void {
    const { source } = this.#host;
    const endsSegment = ({ sequence, index }: SourcePart): boolean => {
      const segment = source.segment(sequence);
      return segment === undefined || (!segment.isOpen && segment.parts.length === index + 1);
    };
    for (;;) {
      const ready = readyParts(this.#parts, this.queues, { isOver, endsSegment });
      if (ready === undefined) return;
      const { parts } = ready;
      const { end } = parts[parts.length - 1];
      if (ready.isWhole) this.#host.make(this, ready);
      else {
        for (const queue of this.queues) queue.skip(end);
        this.#host.skip(this, ready);
      }
      this.#madeUntil = end;
      this.#parts.splice(0, parts.length);
      this.#order.forget(end);
    }
  }

  /** Nothing more is to be handed out. */
  #isDone(signal: AbortSignal): boolean {
    if (this.#fault !== undefined) throw this.#fault;
    return this.hasEnded || signal.aborted;
  }

  #close(): void {
    this.hasEnded = true;
    this.#parts.length = 0;
    for (const queue of this.queues) queue.close();
  }
}

/** Parts of the source, from the first that is not made, that can be made now. They are of one segment. */
export interface ReadyParts {
  readonly parts: readonly SourcePart[];
  readonly endsSegment: boolean;
  /** Each rendition has a picture of them. */
  readonly isWhole: boolean;
}

/**
 * Finds parts of which all renditions have all pictures: all renditions end at the same part, so that the next process can go on
 * from there. A part of which a rendition with fewer pictures has none is made together with its neighbours.
 */
function readyParts(
  parts: readonly SourcePart[],
  queues: readonly PictureQueue[],
  { isOver, endsSegment }: { isOver: boolean; endsSegment(part: SourcePart): boolean },
): ReadyParts | undefined {
  const hasAll = (queue: PictureQueue, part: SourcePart) =>
    queue.isEach && queue.countIn(part) >= part.pictures;
  for (let count = 1; count <= parts.length; count += 1) {
    const part = parts[count - 1];
    // A picture of a later part completes it too: the decoder may have dropped some, or fewer are wanted.
    const isComplete = queues.every((queue) => queue.newest >= part.end || hasAll(queue, part));
    if (!isOver && !isComplete) return undefined;
    const following: SourcePart | undefined = parts[count];
    const isLast = following ? following.sequence !== part.sequence : isOver || endsSegment(part);
    const isWhole = queues.every((queue) => queue.countBefore(part.end) > 0);
    // Without a picture of its own the next part only makes this one longer.
    const mayEnd = queues.every(
      (queue) => hasAll(queue, part) || (following && queue.countIn(following) > 0),
    );
    if (isLast || (isWhole && mayEnd)) return { parts: parts.slice(0, count), endsSegment: isLast, isWhole };
  }
  return undefined;
}
