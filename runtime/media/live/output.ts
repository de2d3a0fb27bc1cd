import type { Clock } from '../../../core/ports/clock.ts';
import type { Figures, LiveKeyFrame, PublishGrant, Vitals } from '../../../core/ports/media.ts';
import type { MemoryShare } from '../publish/memory-budget.ts';
import type { OwnDelay } from '../publish/own-delay.ts';
import type { PushRelay } from '../push/relay.ts';
import { RenditionRelay } from '../push/rendition-relay.ts';
import type { TakeFeed } from '../recording/feed.ts';
import type { RenditionMaker } from '../renditions/ladder.ts';
import { LiveLadder } from '../renditions/live/live-ladder.ts';
import { Dvr } from './dvr.ts';
import { Ingest } from './ingest.ts';
import { newestKeyFrame } from './key-frame.ts';
import { type OutputConfig, outputDefaults } from './limits.ts';
import { type Broadcast, kindAsked, MediaPlaylist } from './media-playlist.ts';
import {
  DVR_PLAYLIST,
  MULTIVARIANT_PLAYLIST,
  mediaPlaylistName,
  parseName,
  renditionOf,
  renditionPrefix,
} from './names.ts';
import { multivariantPlaylist } from './playlist.ts';
import type { BufferPool } from './pool.ts';
import { answers } from './responses.ts';
import { RecordingTap } from './tap.ts';
import { LiveWindow } from './window.ts';

export interface LiveOutputOptions {
  readonly clock: Clock;
  readonly pool: BufferPool;
  /** What its window and arenas count against; closed with it. */
  readonly memory?: MemoryShare;
  /** Of this process, for the vitals. */
  readonly delay?: OwnDelay;
  /** Where it is pushed on from; ends with it. */
  readonly relay?: PushRelay | undefined;
  /** The same of its rendition of this name; asked for once for each that it begins. */
  readonly relayOf?: ((profile: string) => PushRelay) | undefined;
  /** Makes the renditions that a grant wants; without one there are none. */
  readonly transcoder?: RenditionMaker | undefined;
  /** Where the media of an earlier output of this playbackId ended, milliseconds on its timeline. */
  readonly after?: number;
  /** One line for the operator; no secrets. */
  readonly log?: (line: string) => void;
  readonly config?: Partial<OutputConfig>;
}

export interface Attachment {
  readonly grant: PublishGrant;
  /**
   * Its media follows without a leap: the output was there before it, or the stream was last published to the one before this. Absent:
   * others may have gone on with the timeline meanwhile, at most as fast as the stream ages.
   */
  readonly isNext?: boolean;
  /** Where it is recorded; undefined: it is not. */
  readonly recording?: {
    /**
     * Its feed; undefined when it is not to be had. Called once, when a former publish is over; and once for each rendition, by
     * the name of its profile, when there is something of it.
     */
    open(rendition?: string): TakeFeed | undefined;
    /** The recorder threw; the broadcast goes on. */
    onTrouble(error: unknown): void;
  };
  /** The first segment of this publish is listed. Called at most once, during a call of the sink. */
  onPlayable(): void;
  /** EXT-X-TARGETDURATION has grown. Called seldom, during a call of the sink. */
  onTargetGrown?(): void;
  /** The publish must end, for this reason in plain words. Called at most once, during a call of the sink. */
  onFatal(reason: string): void;
}

/**
 * The live playlist of one playbackId, across all the connections of its publisher: one comes, goes, comes
 * back, and viewers see one playlist go on. Between two of them it is held: it answers what it has.
 */
export class LiveOutput {
  readonly #clock: Clock;
  readonly #log: (line: string) => void;
  readonly #config: OutputConfig;
  readonly #memory: MemoryShare | undefined;
  readonly #delay: OwnDelay | undefined;
  readonly #relay: PushRelay | undefined;
  readonly #relayOf: LiveOutputOptions['relayOf'];
  readonly #pool: BufferPool;
  readonly #transcoder: RenditionMaker | undefined;
  readonly #window: LiveWindow;
  readonly #source: MediaPlaylist;
  /** That of the source, then those of renditions; kept, so that none of their names ever stands for something else. */
  readonly #playlists: MediaPlaylist[] = [];
  readonly #broadcast: Broadcast;
  #ladder: LiveLadder | undefined;
  /** Random, so that no cache answers with files of an older output of this playbackId. */
  readonly #prefix: string;
  readonly #dvr: Dvr;
  #ingest: Ingest | undefined;
  #attachment: Attachment | undefined;
  /** The target duration that the owner knows of. */
  #knownTarget = 0;
  #figures: Figures | undefined;
  #vitals: Vitals | undefined;
  #isPublishing = false;
  #hasEnded = false;
  /** Has the end of what was published to make yet, though nobody can watch it. */
  #draining: LiveLadder | undefined;
  /** Where media ends on the timeline, milliseconds. What earlier outputs gave to viewers and recordings lies before. */
  #end: number;
  /** Rendered when first asked for, shared by all who ask before the next part. */
  readonly #multivariant = { version: -1, text: '' };

  constructor(options: LiveOutputOptions) {
    const { clock, pool, memory, delay, after = 0, log = () => {}, config } = options;
    this.#end = after;
    this.#memory = memory;
    this.#delay = delay;
    this.#relay = options.relay;
    this.#relayOf = options.relayOf;
    this.#clock = clock;
    this.#log = log;
    this.#config = { ...outputDefaults, ...config };
    this.#pool = pool;
    this.#transcoder = options.transcoder;
    this.#window = new LiveWindow({ clock, pool, config: this.#config, memory: memory?.hold() });
    this.#window.onChange = () => this.#onChange();
    this.#prefix = Buffer.from(crypto.getRandomValues(new Uint8Array(6))).toString('hex');
    this.#broadcast = this.#asBroadcast();
    this.#source = this.#addPlaylist(this.#window);
    if (memory !== undefined) memory.onShort = () => this.#ladder?.giveWay() ?? false;
    const dvrMemory = memory?.hold({ isExpendable: true });
    this.#dvr = new Dvr({ clock, prefix: this.#prefix, config: this.#config, memory: dvrMemory });
  }

  /** True from the first listed segment until `end`. */
  get isPlayable(): boolean {
    return !this.#hasEnded && this.#window.hasListed;
  }

  /** Bytes the windows hold. */
  get bytes(): number {
    return this.#playlists.reduce((sum, { window }) => sum + window.bytes, 0);
  }

  /** Where a playlist that follows this one may begin to count. */
  get reached(): { mediaSequence: number; discontinuitySequence: number; end: number } {
    return { ...this.#window.reached, end: this.#end };
  }

  /** Requests that wait now. */
  get waiting(): number {
    let waiting = 0;
    for (const playlist of this.#playlists) waiting += playlist.waiting;
    return waiting;
  }

  /** Takes a new publish; a former one that is still here is over at once, its sink inert. */
  attach(attachment: Attachment): Ingest {
    const { grant } = attachment;
    this.#release();
    this.#window.number(grant);
    if (!attachment.isNext) this.#end = Math.max(this.#end, ORIGIN + grant.mediaSequence * QUARTER);
    this.#knownTarget = Math.max(this.#knownTarget, grant.targetDuration, this.#config.targetDuration);
    this.#attachment = attachment;
    this.#isPublishing = !this.#hasEnded;
    const { recording } = attachment;
    const tap =
      recording === undefined || this.#hasEnded
        ? undefined
        : new RecordingTap({ ...recording, open: () => recording.open() });
    this.#window.tap = tap;
    if (!this.#hasEnded) this.#attachLadder(attachment);
    this.#dvr.follow(grant.sessionId, tap?.written);
    this.#relay?.begin();
    this.#ingest = new Ingest({
      grant,
      clock: this.#clock,
      window: this.#window,
      config: this.#config,
      memory: this.#memory,
      tap,
      delay: this.#delay,
      relay: this.#relay,
      // A second later than the last media, so that what comes a little early still has a time of its own.
      origin: Math.ceil(this.#end) + 1000,
      onPlayable: () => attachment.onPlayable(),
      onFatal: (reason) => attachment.onFatal(reason),
    });
    const ingest = this.#ingest;
    if (this.#hasEnded) this.#release();
    return ingest;
  }

  /** The publisher that holds this token has gone. What is whole is listed, then the playlist is held. */
  detach(token: string): void {
    if (this.#ingest?.grant.token !== token) return;
    this.#isPublishing = false;
    this.#release();
    this.#relay?.hold();
    for (const playlist of this.#playlists) playlist.shorten();
  }

  /**
   * Over for good: everything is 404, and the memory is let go; that of renditions that are recorded or pushed when the end of them
   * is made as well, within `ladderLimits.drain`. Called again, it is let go at once.
   *
   * @returns kept when the memory is let go; undefined: it is already
   */
  end(): Promise<void> | undefined {
    if (this.#hasEnded) {
      this.#draining?.end();
      return undefined;
    }
    this.#hasEnded = true;
    this.#isPublishing = false;
    this.#release();
    this.#relay?.end();
    this.#dvr.end();
    const ladder = this.#ladder;
    this.#ladder = undefined;
    const drained = ladder?.drain();
    const letGo = () => {
      this.#draining = undefined;
      this.#window.clear();
      this.#memory?.close();
    };
    for (const playlist of this.#playlists) playlist.wake();
    if (drained === undefined) {
      letGo();
      return undefined;
    }
    this.#draining = ladder;
    return drained.then(letGo);
  }

  /** Of the publish attached last; undefined before any. Still readable after `detach`. */
  figures(): Figures | undefined {
    return this.#ingest?.figures() ?? this.#figures;
  }

  /** The same of how its media comes. */
  vitals(): Vitals | undefined {
    return this.#ingest?.vitals() ?? this.#vitals;
  }

  /** Whether it is a media playlist that is there: players keep asking for that. */
  isWatched(file: string): boolean {
    if (file === DVR_PLAYLIST) return true;
    const asked = renditionOf(file);
    return asked !== undefined && this.#playlists[asked]?.isPlayable === true;
  }

  /** For `Media.keyFrame`. */
  keyFrame(): LiveKeyFrame | 'none' | undefined {
    return this.isPlayable ? (newestKeyFrame(this.#window, this.#prefix) ?? 'none') : undefined;
  }

  /** Answers a GET for one file. `query` counts for playlists only. */
  serve(file: string, query?: URLSearchParams, signal?: AbortSignal): Response | Promise<Response> {
    if (this.#hasEnded) return answers.missing();
    const asked = renditionOf(file);
    if (asked !== undefined) return this.#playlists[asked]?.serve(query, signal) ?? answers.missing();
    if (file === MULTIVARIANT_PLAYLIST) {
      if (!this.isPlayable) return answers.missing();
      if (query?.get('dvr') === '1') return this.#serveDvr('multivariant');
      return answers.playlist(this.#renderMultivariant(), this.#window.targetDuration);
    }
    if (file === DVR_PLAYLIST) return this.#serveDvr(kindAsked(query));
    const ref = parseName(file, this.#prefix);
    if (ref === undefined) return answers.missing();
    if (ref.type === 'dvrSegment') return this.#dvr.segment(ref.sequence);
    if (ref.type === 'dvrInit') return this.#dvr.init(ref.id);
    const playlist = this.#playlists[ref.rendition];
    if (playlist === undefined) return answers.missing();
    if (ref.type === 'init') return playlist.init(ref.id);
    if (ref.type === 'segment') return playlist.segment(ref.sequence);
    return playlist.part(ref, signal);
  }

  #serveDvr(kind: 'multivariant' | 'media' | 'delta'): Response | Promise<Response> {
    if (!this.isPlayable) return answers.missing();
    return this.#dvr.playlist(kind, this.#window.targetDuration);
  }

  #onChange(): void {
    this.#source.wake();
    this.#ladder?.notify();
    if (this.#window.targetDuration <= this.#knownTarget) return;
    this.#knownTarget = this.#window.targetDuration;
    this.#attachment?.onTargetGrown?.();
  }

  /** The publish is over. Its arenas, which may be large, are not held on to. */
  #release(): void {
    const ingest = this.#ingest;
    if (ingest === undefined) return;
    this.#ingest = undefined;
    ingest.finish();
    this.#window.tap?.end();
    this.#window.tap = undefined;
    this.#attachment = undefined;
    this.#end = Math.max(this.#end, ingest.end);
    this.#figures = ingest.figures();
    this.#vitals = ingest.vitals();
    this.#ladder?.release();
  }

  /** Renditions go on across publishes that want the same ones. */
  #attachLadder(attachment: Attachment): void {
    const { grant } = attachment;
    const profiles = (grant.profiles ?? []).slice(0, this.#config.renditions);
    if (this.#ladder?.isOf(profiles)) {
      this.#ladder.attach(attachment);
      return;
    }
    this.#endLadder();
    if (this.#transcoder === undefined || profiles.length === 0) return;
    while (this.#playlists.length <= profiles.length) this.#addPlaylist(this.#renditionWindow());
    const relayOf = this.#relayOf;
    const given = { clock: this.#clock, pool: this.#pool };
    this.#ladder = new LiveLadder({
      ...{ playbackId: grant.playbackId, streamId: grant.streamId, profiles },
      clock: this.#clock,
      source: this.#window,
      playlists: this.#playlists.slice(1, profiles.length + 1),
      ...(relayOf && {
        relays: profiles.map(({ name }) => new RenditionRelay({ ...given, relay: relayOf(name) })),
      }),
      config: this.#config,
      memory: this.#memory,
      maker: this.#transcoder,
      log: this.#log,
    });
    this.#ladder.attach(attachment);
    this.#ladder.begin();
  }

  #endLadder(): void {
    const ladder = this.#ladder;
    this.#ladder = undefined;
    this.#multivariant.version = -1;
    ladder?.end();
  }

  #renditionWindow(): LiveWindow {
    const memory = this.#memory?.hold({ isExpendable: true });
    return new LiveWindow({ clock: this.#clock, pool: this.#pool, config: this.#config, memory });
  }

  #addPlaylist(window: LiveWindow): MediaPlaylist {
    const number = this.#playlists.length;
    const playlist = new MediaPlaylist({
      clock: this.#clock,
      window,
      name: mediaPlaylistName(number),
      prefix: renditionPrefix(this.#prefix, number),
      config: this.#config,
      broadcast: this.#broadcast,
    });
    if (number > 0) window.onChange = () => playlist.wake();
    this.#playlists.push(playlist);
    return playlist;
  }

  #asBroadcast(): Broadcast {
    const output = this;
    return {
      playlists: this.#playlists,
      get hasEnded() {
        return output.#hasEnded;
      },
      get patience() {
        return output.#patience();
      },
      get isFull() {
        return output.waiting >= output.#config.waiterLimit;
      },
      // A player shows media that is `PART-HOLD-BACK` old. Renditions end earlier than the source, so whoever goes from the source
      // to one of them finds it too young by just that much, and would stand still. So all viewers of the source are that much
      // further behind while there are renditions to go to, or about to be. Those of a rendition are already.
      reserveOf: (playlist) =>
        playlist === this.#source && this.#ladder?.isPromising ? this.#config.renditionLag : 0,
    };
  }

  /** Longest a request may wait now, milliseconds. */
  #patience(): number {
    const ordinary = 3000 * this.#window.targetDuration;
    return this.#isPublishing ? ordinary : Math.min(ordinary, this.#config.heldWait);
  }

  #renderMultivariant(): string {
    const { version: own } = this.#window;
    const version = own + (this.#ladder?.version ?? 0);
    const cached = this.#multivariant;
    if (cached.version !== version) {
      const [source, ...others] = this.#playlists;
      cached.text = multivariantPlaylist([source, ...others.filter((_, i) => this.#ladder?.isListed(i))]);
      cached.version = version;
    }
    return cached.text;
  }
}

/** Not 0, so that a composition offset below 0 leads to no time below 0; milliseconds. */
const ORIGIN = 9000;
/** Of the stream's age for each number of `PublishGrant.mediaSequence`; milliseconds. */
const QUARTER = 250;
