import type { Clock } from '../../../../core/ports/clock.ts';
import type { PublishGrant } from '../../../../core/ports/media.ts';
import type { RenditionProfile } from '../../../../core/ports/transcoder.ts';
import type { OutputConfig } from '../../hls/limits.ts';
import type { MediaPlaylist } from '../../hls/media-playlist.ts';
import type { Init, Segment } from '../../hls/segment.ts';
import { RecordingTap } from '../../hls/tap.ts';
import { VIDEO_TRACK } from '../../hls/track.ts';
import type { LiveWindow } from '../../hls/window.ts';
import type { MemoryShare } from '../../memory-budget.ts';
import { writeInit } from '../../mp4/init.ts';
import type { RenditionRelay } from '../../push/rendition-relay.ts';
import type { TakeFeed } from '../../recording/feed.ts';
import {
  type Ladder,
  LadderBroken,
  LadderFull,
  LadderLost,
  type LadderRun,
  type RenditionMaker,
} from '../ladder.ts';
import { renditionRate } from '../rendition-rate.ts';
import type { ReadyParts } from './assembly.ts';
import { ladderLimits } from './limits.ts';
import { LiveRun, type Place, type RunHost } from './live-run.ts';
import type { OutputTrack } from './output-movie.ts';

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

/** A publish whose renditions are made. */
export interface LadderPublish {
  readonly grant: PublishGrant;
  /** As of `Attachment`. */
  readonly recording?: { open(rendition?: string): TakeFeed | undefined; onTrouble(error: unknown): void };
}

/**
 * The renditions of one live playlist. Each has a window of its own, whose segments, parts, times and sound are those of the
 * source's; all of them always end at the same part. It follows the source from publish to publish.
 */
export class LiveLadder implements Ladder {
  readonly playbackId: string;
  readonly streamId: string;
  readonly profiles: readonly RenditionProfile[];
  readonly #options: LiveLadderOptions;
  readonly #source: LiveWindow;
  readonly #windows: readonly LiveWindow[];
  readonly #relays: readonly RenditionRelay[];
  readonly #host: RunHost;
  /** The part of the source that is made next; undefined: wherever the source is by then. */
  #place: Place | undefined;
  /** When the last picture is shown that is made, ticks. */
  #shown = 0;
  /** Segments before it are not begun with: of them something was shown already. */
  #floor: number;
  #run: LiveRun | undefined;
  /** What the windows hold now is of this init of the source, and of these encoders. */
  #begun: { readonly init: Init; readonly tracks: readonly OutputTrack[] } | undefined;
  /** The oldest first. */
  #publishes: Publish[] = [];
  /** Whose takes are fed. */
  #recorded: Publish | undefined;
  #isSuspended = false;
  /** Nobody publishes any more; what was published may still be made. */
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
    this.#source = source;
    this.#windows = playlists.map(({ window }) => window);
    this.#relays = options.relays ?? [];
    this.#floor = source.nextSequence;
    this.#host = {
      source,
      memory,
      limits: ladderLimits,
      isEach: profiles.map(({ fps }) => fps === 0),
      isOver: (init) => this.#isOver(init),
      change: (signal) => this.#change(signal),
      accept: (run, tracks) => this.#accept(run, tracks),
      make: (run, ready) => this.#make(run, ready),
      skip: (run, ready) => this.#skip(run, ready),
    };
  }

  /** Whoever makes renditions is told. */
  begin(): void {
    const { maker, log } = this.#options;
    try {
      this.#stop = maker.begin(this);
    } catch (error) {
      // Nobody watches the source the less for it.
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
    return !this.#isSuspended || this.#hasMade;
  }

  get lag(): number {
    const place = this.#place;
    if (place === undefined || !this.#hasMade) return 0;
    let lag = 0;
    for (let { sequence } = place; sequence <= this.#source.nextSequence; sequence += 1) {
      const segment = this.#source.segment(sequence);
      const from = sequence === place.sequence ? place.part : 0;
      if (segment !== undefined) for (const part of segment.parts.slice(from)) lag += part.duration;
    }
    return lag * 1000;
  }

  isOf(profiles: readonly RenditionProfile[]): boolean {
    return JSON.stringify(profiles) === JSON.stringify(this.profiles);
  }

  isListed(index: number): boolean {
    const window = this.#windows[index];
    if (window === undefined || this.#isSuspended || this.#isOverForGood || !window.hasListed) return false;
    const { renditionLag, partTarget } = this.#options.config;
    if (this.lag > renditionLag * 1000) return false;
    // Who plays the source is so far behind its end, and must find there what follows.
    const { listed } = window;
    const isAll = listed[0].sequence <= (this.#source.listed[0]?.sequence ?? 0);
    return isAll || durationOf(listed) + (window.open?.duration ?? 0) >= renditionLag + 3 * partTarget;
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
      await this.#change(signal);
    }
    return undefined;
  }

  suspend(): void {
    this.#isSuspended = true;
    this.#version += 1;
  }

  /** A publish has come. */
  attach({ grant, recording }: LadderPublish): void {
    this.#publishes.push({ grant, recording, init: this.#source.inits, end: undefined });
    this.#wake();
  }

  /** The publish is over, and all of it is cut. */
  release(): void {
    const publish = this.#publishes.at(-1);
    if (publish === undefined) return;
    publish.end ??= this.#source.nextSequence;
    for (const relay of this.#relays) relay.hold();
    this.notify();
  }

  /** The window of the source has changed. */
  notify(): void {
    const place = this.#place;
    const { nextSequence } = this.#source;
    if (place && place.sequence < nextSequence && this.#source.segment(place.sequence) === undefined)
      this.#lose(new LadderLost(`segment ${place.sequence} has left the live window before it was made`));
    this.#follow();
    this.#wake();
  }

  /** Memory is needed for the source. False: there is nothing to give. */
  giveWay(): boolean {
    const isHolding = this.#run !== undefined || this.#windows.some(({ bytes }) => bytes > 0);
    this.#lose(new LadderFull('the source needs the memory of the renditions'));
    this.#wake();
    return isHolding;
  }

  /**
   * Nobody publishes any more, and nobody watches. What was published is still made, for `ladderLimits.drain` at most, where it is
   * recorded or pushed: the process has the end of it yet. Until then the window of the source must stay as it is.
   *
   * @returns kept when it has ended; undefined: it has already
   */
  drain(): Promise<void> | undefined {
    if (this.#hasEnded) return undefined;
    this.#isOverForGood = true;
    for (const publish of this.#publishes) publish.end ??= this.#source.nextSequence;
    if (!this.#isWanted || !this.#isAtWork || this.#isAllMade) {
      this.end();
      return undefined;
    }
    const { clock } = this.#options;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = clock.at(clock.now() + ladderLimits.drain, () => this.end());
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
    for (const publish of this.#publishes) publish.end ??= this.#source.nextSequence;
    this.#clear();
    for (const relay of this.#relays) relay.end();
    this.#wake();
    this.#stop?.();
    this.#onDrained?.();
  }

  /** Somebody has use for what viewers do not get any more. */
  get #isWanted(): boolean {
    return (
      this.#publishes.some(({ recording }) => recording !== undefined) ||
      this.#relays.some(({ isActive }) => isActive)
    );
  }

  /** There is a process, or was one of which something is to be gone on with. */
  get #isAtWork(): boolean {
    return this.#run?.hasEnded === false || this.#hasMade;
  }

  get #isAllMade(): boolean {
    const last = this.#publishes.at(-1);
    return last === undefined || this.#isMade(last);
  }

  get #hasMade(): boolean {
    return this.#windows.some((window) => window.hasListed || window.isOpen);
  }

  #nextRun(): LiveRun | undefined {
    // Nobody has seen anything yet: there is nothing to go on with.
    if (!this.#hasMade) this.#place = undefined;
    const place = this.#place ?? this.#newest();
    const segment = place && this.#source.segment(place.sequence);
    if (place === undefined || segment === undefined || segment.parts.length <= place.part) return undefined;
    const { init } = segment;
    if (!hasPictures(init)) {
      // Only sound follows.
      this.#clear();
      return undefined;
    }
    const first = this.#decodableBefore(segment);
    if (first === undefined) {
      this.#clear();
      return undefined;
    }
    this.#place = place;
    const isWhole = place.part === 0 && first.sequence === place.sequence;
    return new LiveRun(this.#host, {
      place,
      feedFrom: first.sequence,
      init,
      discontinuities: this.#source.discontinuitiesUpTo(place.sequence),
      from: isWhole ? undefined : this.#shown + 1,
    });
  }

  /** The nearest segment that a decoder can begin with: this one, mostly; undefined: there is none any more. */
  #decodableBefore(segment: Segment): Segment | undefined {
    let found: Segment | undefined = segment;
    while (found !== undefined && !found.parts[0].isIndependent)
      found = this.#source.segment(found.sequence - 1);
    return found?.init.id === segment.init.id ? found : undefined;
  }

  /** The newest segment of which nothing was shown and that a decoder can begin with. */
  #newest(): Place | undefined {
    const { open, init, nextSequence } = this.#source;
    if (init === undefined || this.#isOver(init)) return undefined;
    const candidates = [open, this.#source.segment(nextSequence - 1)];
    const segment = candidates.find(
      (each) =>
        each !== undefined &&
        each.sequence >= this.#floor &&
        each.init.id === init.id &&
        each.parts[0]?.isIndependent,
    );
    return segment && { sequence: segment.sequence, part: 0 };
  }

  #isOver(init: Init): boolean {
    return (
      this.#source.init?.id !== init.id ||
      this.#source.hint === undefined ||
      this.#publishOf(init)?.end !== undefined
    );
  }

  #accept(run: LiveRun, tracks: readonly OutputTrack[]): void {
    const begun = this.#begun;
    if (begun?.init.id !== run.init.id || !this.#hasMade) return;
    if (tracks.every(({ record }, i) => Buffer.compare(record, begun.tracks[i].record) === 0)) return;
    this.#clear();
    throw new LadderBroken('it encodes in another way than the process before it');
  }

  #make(run: LiveRun, { parts, endsSegment }: ReadyParts): void {
    this.#beginInit(run, parts[0].sequence);
    for (const [index, queue] of run.queues.entries()) {
      if (queue.write(parts, { window: this.#windows[index], relay: this.#relays[index] })) continue;
      const error = new LadderFull('no memory is left for the playlists of renditions');
      this.#lose(error);
      throw error;
    }
    const { sequence, index, end } = parts[parts.length - 1];
    this.#shown = Math.max(this.#shown, run.shownBefore(end));
    if (endsSegment) for (const window of this.#windows) window.closeSegment();
    this.#place = endsSegment ? { sequence: sequence + 1, part: 0 } : { sequence, part: index + 1 };
    this.#isSuspended = false;
    this.#commit();
  }

  /** At the end of a publish no more is missing than what lies behind the last picture. Elsewhere it would be a hole. */
  #skip(run: LiveRun, { parts }: ReadyParts): void {
    const { sequence } = parts[parts.length - 1];
    if (parts[0].index === 0 || !this.#isOver(run.init)) this.#clear();
    else for (const window of this.#windows) window.closeSegment();
    this.#place = { sequence: sequence + 1, part: 0 };
    if (this.#hasMade) this.#commit();
  }

  /** What follows has another init than what is there. */
  #beginInit(run: LiveRun, sequence: number): void {
    if (this.#begun?.init.id === run.init.id) return;
    const { init, discontinuities } = run;
    const tracks = run.tracks as readonly OutputTrack[];
    const publish = this.#publishOf(init);
    const isOther = publish !== this.#recorded;
    if (isOther) this.#endTakes();
    for (const [index, window] of this.#windows.entries()) {
      const profile = this.profiles[index];
      const { config, record } = tracks[index];
      if (isOther && publish?.recording) {
        const { open, onTrouble } = publish.recording;
        window.tap = new RecordingTap({ open: () => open(profile.name), onTrouble });
      }
      window.number({
        mediaSequence: sequence,
        discontinuitySequence: discontinuities,
        targetDuration: this.#source.targetDuration,
      });
      const video = { id: VIDEO_TRACK, timescale: 90_000, config, record };
      const { audio } = init;
      // Counted in slots of a clock that ticks faster, it says nothing in the header of what is encoded live.
      const frameRate = config.frameRate ?? renditionRate(profile, init.frameRate);
      window.begin({
        bytes: writeInit(audio === undefined ? { video } : { video, audio }),
        codecs: [config.codec, ...init.codecs.slice(1)],
        width: config.width,
        height: config.height,
        frameRate,
        audio,
      });
      const relay = this.#relays[index];
      relay?.begin(
        { video: { config, record }, audio, frameRate, bitrate: profile.bitrate },
        { isPublish: isOther },
      );
      // What is left of a publish that is over: nobody is connected to for it.
      if (isOther && publish?.end !== undefined) relay?.hold();
    }
    this.#recorded = publish;
    this.#begun = { init, tracks };
  }

  /** The source has closed a segment without another part. */
  #follow(): void {
    const place = this.#place;
    if (place === undefined || !this.#hasMade) return;
    const segment = this.#source.segment(place.sequence);
    if (place.part > 0 && segment?.isOpen === false && segment.parts.length === place.part) {
      for (const window of this.#windows) window.closeSegment();
      this.#place = { sequence: place.sequence + 1, part: 0 };
      this.#commit();
    } else if (this.#windows[0].hint !== undefined && !this.#isFlowing) this.#commit();
  }

  /** More will follow what is made. */
  get #isFlowing(): boolean {
    const { sequence, part } = this.#place ?? { sequence: -1, part: 0 };
    if ((this.#source.segment(sequence)?.parts.length ?? 0) > part) return true;
    const isPublishing = this.#publishes.at(-1)?.end === undefined;
    return isPublishing && this.#source.hint !== undefined;
  }

  #commit(): void {
    this.#version += 1;
    const isLive = this.#isFlowing;
    for (const window of this.#windows) window.commit({ isLive });
    this.#settleTakes();
  }

  #lose(error: Error): void {
    this.#run?.fail(error);
    this.#run = undefined;
    this.#clear();
  }

  /** Nothing is listed any more; what comes is begun anew, with a later segment. */
  #clear(): void {
    this.#place = this.#begun = undefined;
    this.#version += 1;
    for (const { window } of this.#options.playlists) window.clear();
    this.#floor = Math.max(this.#floor, ...this.#windows.map(({ nextSequence }) => nextSequence));
    this.#settleTakes();
    for (const playlist of this.#options.playlists) playlist.wake();
  }

  #publishOf(init: Init): Publish | undefined {
    return this.#publishes.findLast((publish) => publish.init <= init.id);
  }

  /** Ends the takes of a publish of which nothing more comes, and forgets it. */
  #settleTakes(): void {
    if (this.#recorded !== undefined && this.#isMade(this.#recorded)) this.#endTakes();
    // The newest says whether somebody publishes.
    this.#publishes = this.#publishes.filter((each, i, all) => i === all.length - 1 || !this.#isMade(each));
    if (this.#isOverForGood && this.#isAllMade) this.end();
  }

  /** It is over, and nothing of it is made any more. */
  #isMade({ end }: Publish): boolean {
    const place = this.#place;
    return end !== undefined && (place === undefined || place.sequence >= end);
  }

  #endTakes(): void {
    this.#recorded = undefined;
    for (const window of this.#windows) {
      window.tap?.end();
      window.tap = undefined;
    }
  }

  #change(signal: AbortSignal): Promise<void> {
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

interface Publish extends LadderPublish {
  readonly recording: LadderPublish['recording'];
  /** The first init that it may have. */
  readonly init: number;
  /** The first segment that is not of it any more; undefined while it runs. */
  end: number | undefined;
}

function hasPictures(init: Init): init is Init & { width: number; height: number } {
  return init.width !== undefined && init.height !== undefined;
}

function durationOf(segments: readonly Segment[]): number {
  return segments.reduce((sum, { duration }) => sum + duration, 0);
}
