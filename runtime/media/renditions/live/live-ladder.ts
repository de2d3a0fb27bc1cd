import type { Clock } from '../../../../core/ports/clock.ts';
import type { RenditionProfile } from '../../../../core/ports/transcoder.ts';
import { type OutputConfig, variantLag } from '../../live/config.ts';
import type { MediaPlaylist } from '../../live/media-playlist.ts';
import type { Init, Segment } from '../../live/segment.ts';
import type { LiveWindow } from '../../live/window.ts';
import type { MemoryShare } from '../../publish/memory-budget.ts';
import type { RenditionRelay } from '../../push/rendition-relay.ts';
import {
  type Ladder,
  LadderBroken,
  LadderFull,
  LadderLost,
  type LadderRun,
  type RenditionMaker,
} from '../ladder.ts';
import { LiveRun, type ReadyParts, type RunHost } from './live-run.ts';
import type { OutputTrack } from './output-reader.ts';
import {
  decodableBefore,
  hasPictures,
  type LadderPublish,
  mediaBehind,
  newestPlace,
  type Place,
  Publishes,
} from './publishes.ts';
import { RenditionWindows } from './rendition-windows.ts';

/** ms for which the end of a broadcast that is over is still encoded, if its renditions are recorded or pushed. */
export const drainTimeout = 5000;

export interface LiveLadderOptions extends Pick<Ladder, 'playbackId' | 'streamId' | 'profiles'> {
  readonly clock: Clock;
  readonly source: LiveWindow;
  /** One for each profile. */
  readonly playlists: readonly MediaPlaylist[];
  /** Where they are pushed on from, one for each profile; end with it. Without any they are not. */
  readonly relays?: readonly RenditionRelay[];
  readonly config: OutputConfig;
  /** What is kept for it counts against; nothing when undefined. */
  readonly memory: MemoryShare | undefined;
  readonly maker: RenditionMaker;
  /** One line for the operator; no secrets. */
  log(line: string): void;
}

/**
 * The renditions of one live playlist. Each has a window of its own, whose segments, parts, times and sound are those of the
 * source's; all of them always end at the same part. It follows the source from publish to publish.
 */
export class LiveLadder implements Ladder, RunHost {
  readonly playbackId: string;
  readonly streamId: string;
  readonly profiles: readonly RenditionProfile[];
  readonly source: LiveWindow;
  readonly memory: MemoryShare | undefined;
  readonly #options: LiveLadderOptions;
  readonly #windows: RenditionWindows;
  readonly #publishes = new Publishes();
  /** The part of the source that is made next; undefined: wherever the source is by then. */
  #place: Place | undefined;
  /** When the last picture is shown that is made, ticks. */
  #shown = 0;
  /** Segments before it are not begun with: of them something was shown already. */
  #floor: number;
  #run: LiveRun | undefined;
  #isSuspended = false;
  /** No publish follows; the rest of the last one may still be made. */
  #isOverForGood = false;
  #hasEnded = false;
  #onDrained: (() => void) | undefined;
  #version = 0;
  #stop: (() => void) | undefined;
  readonly #waiting = new Set<() => void>();

  constructor(options: LiveLadderOptions) {
    const { playbackId, streamId, profiles, source, playlists, memory } = options;
    this.playbackId = playbackId;
    this.streamId = streamId;
    this.profiles = profiles;
    this.#options = options;
    this.source = source;
    this.memory = memory;
    this.#windows = new RenditionWindows({ profiles, playlists, relays: options.relays ?? [] });
    this.#floor = source.nextSequence;
  }

  /** Starts to make them. */
  begin(): void {
    const { maker, log } = this.#options;
    try {
      this.#stop = maker.begin(this);
    } catch (error) {
      // The source goes on without them.
      this.suspend();
      log(`renditions could not be begun: ${error}`);
    }
  }

  /** Grows with everything that changes which renditions are listed, and how. */
  get version(): number {
    return this.#version;
  }

  /** There are renditions to go to, or there will be soon. */
  get isPromising(): boolean {
    return !this.#isSuspended || this.#windows.hasMedia;
  }

  get lag(): number {
    const place = this.#place;
    return place === undefined || !this.#windows.hasMedia ? 0 : mediaBehind(this.source, place) * 1000;
  }

  isOf(profiles: readonly RenditionProfile[]): boolean {
    return JSON.stringify(profiles) === JSON.stringify(this.profiles);
  }

  isListed(index: number): boolean {
    const window = this.#windows.at(index);
    if (window === undefined || this.#isSuspended || this.#isOverForGood || !window.hasListed) return false;
    const { partTarget } = this.#options.config;
    if (this.lag > variantLag * 1000) return false;
    // Who plays the source is so far behind its end, and must find there what follows.
    const { listed } = window;
    const isAll = listed[0].sequence <= (this.source.listed[0]?.sequence ?? 0);
    return isAll || durationOf(listed) + (window.open?.duration ?? 0) >= variantLag + 3 * partTarget;
  }

  async next(signal: AbortSignal): Promise<LadderRun | undefined> {
    this.#run?.end({ isWhole: false });
    this.#run = undefined;
    while (!this.#hasEnded && !signal.aborted) {
      const run = this.#nextRun();
      if (run !== undefined) {
        this.#run = run;
        return run;
      }
      // What is not made yet cannot be, and nothing more comes.
      if (this.#isOverForGood) this.end();
      await this.change(signal);
    }
    return undefined;
  }

  suspend(): void {
    this.#isSuspended = true;
    this.#version += 1;
  }

  /** A publish has come. */
  attach(publish: LadderPublish): void {
    this.#publishes.add(publish, { init: this.source.inits });
    this.#wake();
  }

  /** The publish is over, and all of it is cut. */
  release(): void {
    this.#publishes.close(this.source.nextSequence);
    this.#windows.hold();
    this.notify();
  }

  /** The window of the source has changed. */
  notify(): void {
    const place = this.#place;
    const { nextSequence } = this.source;
    if (place && place.sequence < nextSequence && this.source.segment(place.sequence) === undefined)
      this.#lose(new LadderLost(`segment ${place.sequence} has left the live window before it was made`));
    this.#follow();
    this.#wake();
  }

  /** Memory is needed for the source. False: there is nothing to give. */
  giveWay(): boolean {
    const isHolding = this.#run !== undefined || this.#windows.isHolding;
    this.#lose(new LadderFull('the source needs the memory of the renditions'));
    this.#wake();
    return isHolding;
  }

  /**
   * No publish follows, and there are no viewers. What was published is still made, for `drainTimeout` at most, where it is
   * recorded or pushed: the process has the end of it yet. Until then the window of the source must stay as it is.
   *
   * @returns kept when it has ended; undefined: it has already
   */
  drain(): Promise<void> | undefined {
    if (this.#hasEnded) return undefined;
    this.#isOverForGood = true;
    this.#publishes.close(this.source.nextSequence);
    if (!this.#isWanted || !this.#isAtWork || this.#publishes.isMade(this.#place)) {
      this.end();
      return undefined;
    }
    const { clock } = this.#options;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = clock.at(clock.now() + drainTimeout, () => this.end());
    this.#onDrained = () => {
      cancel();
      resolve();
    };
    this.#wake();
    return promise;
  }

  /** Over for good, whatever is not made yet. */
  end(): void {
    if (this.#hasEnded) return;
    this.#isOverForGood = this.#hasEnded = true;
    this.#run?.end({ isWhole: false });
    this.#run = undefined;
    this.#publishes.close(this.source.nextSequence);
    this.#clear();
    this.#windows.end();
    this.#wake();
    this.#stop?.();
    this.#onDrained?.();
  }

  /** Somebody has use for what viewers do not get any more. */
  get #isWanted(): boolean {
    return this.#publishes.isRecorded || this.#windows.isPushed;
  }

  /** There is a process, or was one of which something is to be gone on with. */
  get #isAtWork(): boolean {
    return this.#run?.hasEnded === false || this.#windows.hasMedia;
  }

  #nextRun(): LiveRun | undefined {
    // No viewer has seen anything yet: there is nothing to continue.
    if (!this.#windows.hasMedia) this.#place = undefined;
    const place = this.#place ?? this.#newest();
    const segment = place && this.source.segment(place.sequence);
    if (place === undefined || segment === undefined || segment.parts.length <= place.part) return undefined;
    const { init } = segment;
    if (!hasPictures(init)) {
      // Only sound follows.
      this.#clear();
      return undefined;
    }
    const first = decodableBefore(this.source, segment);
    if (first === undefined) {
      this.#clear();
      return undefined;
    }
    this.#place = place;
    const isWhole = place.part === 0 && first.sequence === place.sequence;
    return new LiveRun(this, {
      place,
      feedFrom: first.sequence,
      init,
      discontinuities: this.source.discontinuitiesUpTo(place.sequence),
      from: isWhole ? undefined : this.#shown + 1,
    });
  }

  /** Of which nothing was shown. */
  #newest(): Place | undefined {
    const { init } = this.source;
    if (init === undefined || this.isOver(init)) return undefined;
    return newestPlace(this.source, { floor: this.#floor });
  }

  isOver(init: Init): boolean {
    return (
      this.source.init?.id !== init.id ||
      this.source.hint === undefined ||
      this.#publishes.of(init)?.end !== undefined
    );
  }

  accept(run: LiveRun, tracks: readonly OutputTrack[]): void {
    if (this.#windows.fits(run.init, tracks)) return;
    this.#clear();
    throw new LadderBroken('it encodes in another way than the process before it');
  }

  make(run: LiveRun, { parts, endsSegment }: ReadyParts): void {
    const { targetDuration } = this.source;
    const publish = this.#publishes.of(run.init);
    const first = parts[0].sequence;
    const isReturn = this.source.segment(first - 1)?.isGap ?? false;
    this.#windows.begin(run, { sequence: first, targetDuration, isReturn, publish });
    if (!this.#windows.write(run, parts)) {
      const error = new LadderFull('no memory is left for the playlists of renditions');
      this.#lose(error);
      throw error;
    }
    const { sequence, index, end } = parts[parts.length - 1];
    this.#shown = Math.max(this.#shown, run.shownBefore(end));
    if (endsSegment) this.#windows.closeSegment();
    this.#place = endsSegment ? { sequence: sequence + 1, part: 0 } : { sequence, part: index + 1 };
    this.#isSuspended = false;
    this.#commit();
  }

  /** At the end of a publish no more is missing than what lies behind the last picture. Elsewhere it would be a hole. */
  skip(run: LiveRun, { parts }: ReadyParts): void {
    const { sequence } = parts[parts.length - 1];
    if (parts[0].index === 0 || !this.isOver(run.init)) this.#clear();
    else this.#windows.closeSegment();
    this.#place = { sequence: sequence + 1, part: 0 };
    if (this.#windows.hasMedia) this.#commit();
  }

  /** The source has closed a segment without another part. */
  #follow(): void {
    const place = this.#place;
    if (place === undefined || !this.#windows.hasMedia) return;
    const segment = this.source.segment(place.sequence);
    if (place.part > 0 && segment?.isOpen === false && segment.parts.length === place.part) {
      this.#windows.closeSegment();
      this.#place = { sequence: place.sequence + 1, part: 0 };
      this.#commit();
    } else if (this.#windows.isHinting && !this.#isFlowing) this.#commit();
  }

  /** More will follow what is made. */
  get #isFlowing(): boolean {
    const { sequence, part } = this.#place ?? { sequence: -1, part: 0 };
    if ((this.source.segment(sequence)?.parts.length ?? 0) > part) return true;
    return this.#publishes.isOpen && this.source.hint !== undefined;
  }

  #commit(): void {
    this.#version += 1;
    this.#windows.commit({ isLive: this.#isFlowing });
    this.#settle();
  }

  #lose(error: Error): void {
    this.#run?.fail(error);
    this.#run = undefined;
    this.#clear();
  }

  /** Nothing is listed any more; what comes is begun anew, with a later segment. */
  #clear(): void {
    this.#place = undefined;
    this.#version += 1;
    this.#windows.clear();
    this.#floor = Math.max(this.#floor, this.#windows.nextSequence);
    this.#settle();
    this.#windows.wake();
  }

  /** Lets go of the publishes of which nothing more comes. */
  #settle(): void {
    this.#windows.settleTakes(this.#place);
    this.#publishes.settle(this.#place);
    if (this.#isOverForGood && this.#publishes.isMade(this.#place)) this.end();
  }

  change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#waiting.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.#waiting.add(done);
      signal.addEventListener('abort', done);
      if (signal.aborted) done();
    });
  }

  #wake(): void {
    for (const done of this.#waiting) done();
  }
}

function durationOf(segments: readonly Segment[]): number {
  return segments.reduce((sum, { duration }) => sum + duration, 0);
}
