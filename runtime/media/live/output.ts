import type { Clock } from '../../../core/ports/clock.ts';
import type { Figures, LiveAnswer, LiveKeyFrame, PublishGrant, Vitals } from '../../../core/ports/media.ts';
import type { MemoryHold, MemoryShare } from '../publish/memory-budget.ts';
import type { OwnDelay } from '../publish/own-delay.ts';
import type { SampleSubscriber, Subscriber } from '../publish/subscriber.ts';
import { missing } from './answers.ts';
import { type OutputConfig, outputDefaults, targetDuration, variantLag } from './config.ts';
import { Ingest } from './ingest.ts';
import { MediaPlaylist, type PlaylistContext } from './media-playlist.ts';
import {
  MULTIVARIANT_PLAYLIST,
  mediaNames,
  mediaPlaylistName,
  parseName,
  parseTextName,
  renditionOf,
  renditionPrefix,
  textTrackOf,
} from './names.ts';
import { multivariantPlaylist } from './playlist.ts';
import type { BufferPool } from './pool.ts';
import type { Slabs } from './slabs.ts';
import { TextTracks } from './text/text-tracks.ts';
import { LiveWindow } from './window.ts';

export interface LiveOutputOptions {
  readonly clock: Clock;
  readonly pool: BufferPool;
  readonly slabs: Slabs;
  /** What its window and arenas count against; closed with it. */
  readonly memory?: MemoryShare;
  /** Of this process, for the vitals. */
  readonly delay?: OwnDelay;
  /** Where the media of an earlier output of this playbackId ended, milliseconds on its timeline. */
  readonly after?: number;
  readonly config?: Partial<OutputConfig>;
}

export interface Attachment {
  readonly grant: PublishGrant;
  /**
   * Its media follows without a leap: the output was there before it, or the stream was last published to the one before this. Absent:
   * others may have gone on with the timeline meanwhile, at most as fast as the stream ages.
   */
  readonly isNext?: boolean;
  /** Who takes what it brings, until the next `attach`, `detach` or `end`. */
  readonly subscribers?: readonly Subscriber[];
  readonly samples?: SampleSubscriber | undefined;
  /** The first segment of this publish is listed. Called at most once, during a call of the sink. */
  onPlayable(): void;
  /** EXT-X-TARGETDURATION has grown. Called seldom, during a call of the sink. */
  onTargetGrown?(): void;
  /** The publish must end, for this reason in plain words. Called at most once, during a call of the sink. */
  onFatal(reason: string): void;
}

/** The other variants of a broadcast, beside what the encoder sends. */
export interface Variants {
  /** Grows with everything that changes which of them are listed, and how. */
  readonly version: number;
  /** There are some to go to, or there will be soon. */
  readonly isPromising: boolean;
  /** Whether viewers who come now are offered the variant of this index. */
  isListed(index: number): boolean;
}

/**
 * The live playlist of one playbackId, across all the connections of its publisher: one comes, goes, comes
 * back, and viewers see one playlist go on. Between two of them it is held: it answers what it has.
 */
export class LiveOutput implements PlaylistContext {
  readonly window: LiveWindow;
  readonly config: OutputConfig;
  /** Random, so that no cache answers with files of an older output of this playbackId. */
  readonly prefix = Buffer.from(crypto.getRandomValues(new Uint8Array(6))).toString('hex');
  readonly #options: LiveOutputOptions;
  readonly #source: MediaPlaylist;
  /** That of the source, then those of variants; kept, so that none of their names ever stands for something else. */
  readonly playlists: MediaPlaylist[] = [];
  readonly textTracks: TextTracks;
  hasEnded = false;
  /** The variants of each who makes some. */
  readonly #makers = new Map<unknown, VariantMaker>();
  #ingest: Ingest | undefined;
  #attachment: Attachment | undefined;
  /** The target duration that the owner knows of. */
  #knownTarget = 0;
  #figures: Figures | undefined;
  #vitals: Vitals | undefined;
  /** Found last, because its bytes are a copy. */
  #keyFrame: LiveKeyFrame | undefined;
  #isPublishing = false;
  /** Where media ends on the timeline, milliseconds. What earlier outputs gave to viewers and recordings lies before. */
  #end: number;
  /** Rendered when first asked for, shared by all who ask before the next part. */
  readonly #multivariant = { version: -1, text: '' };

  constructor(options: LiveOutputOptions) {
    this.#options = options;
    this.#end = options.after ?? 0;
    this.config = { ...outputDefaults, ...options.config };
    this.#source = this.#addPlaylist(options.memory?.hold());
    this.window = this.#source.window;
    const { window, prefix, config } = this;
    this.textTracks = new TextTracks({ clock: options.clock, window, prefix, config, broadcast: this });
    this.window.onChange = () => this.#onChange();
  }

  /** True from the first listed segment until `end`. */
  get isPlayable(): boolean {
    return !this.hasEnded && this.window.hasListed;
  }

  /** Bytes the windows hold. */
  get bytes(): number {
    return this.playlists.reduce((sum, { window }) => sum + window.bytes, 0);
  }

  /** Where a playlist that follows this one may begin to count. */
  get reached(): { mediaSequence: number; discontinuitySequence: number; end: number } {
    return { ...this.window.reached, end: this.#end };
  }

  /** Requests that wait now. */
  get waiting(): number {
    let waiting = 0;
    for (const playlist of this.playlists) waiting += playlist.waiting;
    for (const playlist of this.texts) waiting += playlist.waiting;
    return waiting;
  }

  get texts(): readonly MediaPlaylist[] {
    return this.textTracks.playlists;
  }

  get isFull(): boolean {
    return this.waiting >= this.config.waiterLimit;
  }

  get patience(): number {
    const ordinary = 3000 * this.window.targetDuration;
    return this.#isPublishing ? ordinary : Math.min(ordinary, HELD_WAIT);
  }

  /**
   * A player shows media that is `PART-HOLD-BACK` old. Renditions end earlier than the source, so a player that goes from the
   * source to one of them finds it too young by just that much, and would stand still. So all viewers of the source are that
   * much further behind while there are renditions to go to, or about to be. Those of a rendition are already.
   */
  reserveOf(playlist: MediaPlaylist): number {
    if (playlist.window !== this.window) return 0;
    for (const { offered } of this.#makers.values()) if (offered?.isPromising) return variantLag;
    return 0;
  }

  /** Takes a new publish; a former one that is still here is over at once, its sink inert. */
  attach(attachment: Attachment): Ingest {
    const { grant, subscribers = [], samples } = attachment;
    const { clock, memory, delay } = this.#options;
    this.release();
    this.window.number(grant);
    if (!attachment.isNext) this.#end = Math.max(this.#end, ORIGIN + grant.mediaSequence * QUARTER);
    this.#knownTarget = Math.max(this.#knownTarget, grant.targetDuration, targetDuration);
    this.#attachment = attachment;
    this.#isPublishing = true;
    this.window.subscribers = subscribers;
    this.#ingest = new Ingest({
      grant,
      clock,
      window: this.window,
      config: this.config,
      memory,
      subscribers,
      samples,
      delay,
      // A second later than the last media, so that what comes a little early still has a time of its own.
      origin: Math.ceil(this.#end) + 1000,
      onPlayable: () => attachment.onPlayable(),
      onFatal: (reason) => attachment.onFatal(reason),
    });
    return this.#ingest;
  }

  /** The publisher that holds this token has gone: what is whole is listed, then the playlist is held. False: it is another. */
  detach(token: string): boolean {
    if (this.#ingest?.grant.token !== token) return false;
    this.#isPublishing = false;
    this.release();
    for (const playlist of [...this.playlists, ...this.texts]) playlist.shorten();
    return true;
  }

  /** The publish is over. Its arenas, which may be large, are not held on to. */
  release(): void {
    const ingest = this.#ingest;
    if (ingest === undefined) return;
    this.#ingest = undefined;
    ingest.finish();
    const { subscribers } = this.window;
    this.window.subscribers = [];
    for (const subscriber of subscribers) subscriber.end?.();
    this.#attachment = undefined;
    this.#end = Math.max(this.#end, ingest.end);
    this.#figures = ingest.figures();
    this.#vitals = ingest.vitals();
  }

  /** Over for good: everything is 404 from now on. */
  end(): void {
    this.hasEnded = true;
    this.#isPublishing = false;
    this.release();
    for (const playlist of [...this.playlists, ...this.texts]) playlist.wake();
  }

  /** Gives its memory back, when nobody reads its window any more. */
  clear(): void {
    this.window.clear();
    this.#keyFrame = undefined;
    this.#options.memory?.close();
  }

  /** Playlists for this many variants by one maker, who gets the same ones again. `offer` says which of them are listed. */
  variants(count: number, maker: unknown = this): readonly MediaPlaylist[] {
    const { playlists } = this.#makerOf(maker);
    while (playlists.length < count) {
      const playlist = this.#addPlaylist(this.#options.memory?.hold({ isExpendable: true }));
      playlist.window.onChange = () => playlist.wake();
      playlists.push(playlist);
    }
    return playlists.slice(0, count);
  }

  offer(variants: Variants | undefined, maker: unknown = this): void {
    this.#makerOf(maker).offered = variants;
    this.#multivariant.version = -1;
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
    const asked = renditionOf(file);
    return asked !== undefined && this.playlists[asked]?.isPlayable === true;
  }

  /** For `Media.keyFrame`. */
  keyFrame(): LiveKeyFrame | 'none' | undefined {
    if (!this.isPlayable) return undefined;
    this.#keyFrame = newestKeyFrame(this.window, { prefix: this.prefix, known: this.#keyFrame });
    return this.#keyFrame ?? 'none';
  }

  /** Answers a GET for one file. `query` counts for playlists only. */
  serve(file: string, query?: URLSearchParams, signal?: AbortSignal): LiveAnswer | Promise<LiveAnswer> {
    if (this.hasEnded) return missing;
    const asked = renditionOf(file);
    if (asked !== undefined) return this.playlists[asked]?.serve(query, signal) ?? missing;
    if (file === MULTIVARIANT_PLAYLIST) {
      if (!this.isPlayable) return missing;
      return { type: 'playlist', body: this.#renderMultivariant(), maxAge: this.window.targetDuration };
    }
    const text = this.#serveText(file, query, signal);
    if (text !== undefined) return text;
    const ref = parseName(file, this.prefix);
    if (ref === undefined) return missing;
    const playlist = this.playlists[ref.rendition];
    if (playlist === undefined) return missing;
    if (ref.type === 'init') return playlist.init(ref.number);
    if (ref.type === 'segment') return playlist.segment(ref.number);
    return playlist.part({ sequence: ref.number, part: ref.part }, signal);
  }

  /** Undefined: it is no file of a text track. */
  #serveText(
    file: string,
    query: URLSearchParams | undefined,
    signal: AbortSignal | undefined,
  ): LiveAnswer | Promise<LiveAnswer> | undefined {
    const track = textTrackOf(file);
    if (track !== undefined) return this.texts[track - 1]?.serve(query, signal);
    const ref = parseTextName(file, this.prefix);
    const playlist = ref && this.texts[ref.track - 1];
    if (ref === undefined || playlist === undefined) return undefined;
    const { sequence, part } = ref;
    return part === undefined ? playlist.segment(sequence) : playlist.part({ sequence, part }, signal);
  }

  #onChange(): void {
    this.textTracks.advance();
    this.#source.wake();
    for (const text of this.texts) text.wake();
    for (const subscriber of this.window.subscribers) subscriber.changed?.();
    if (this.window.targetDuration <= this.#knownTarget) return;
    this.#knownTarget = this.window.targetDuration;
    this.#attachment?.onTargetGrown?.();
  }

  #makerOf(maker: unknown): VariantMaker {
    const known = this.#makers.get(maker) ?? { playlists: [], offered: undefined };
    this.#makers.set(maker, known);
    return known;
  }

  #addPlaylist(memory: MemoryHold | undefined): MediaPlaylist {
    const number = this.playlists.length;
    const { clock, pool, slabs } = this.#options;
    const window = new LiveWindow({ clock, pool, slabs, config: this.config, memory });
    const playlist = new MediaPlaylist({
      clock,
      window,
      name: mediaPlaylistName(number),
      files: {
        names: mediaNames(renditionPrefix(this.prefix, number)),
        segment: (sequence) => window.segment(sequence)?.whole(),
        part: (sequence, part) => window.segment(sequence)?.part(part),
      },
      config: this.config,
      broadcast: this,
    });
    this.playlists.push(playlist);
    return playlist;
  }

  #renderMultivariant(): string {
    const { listed, version: ofTexts } = this.textTracks;
    const makers = [...this.#makers.values()];
    const ofVariants = makers.reduce((sum, { offered }) => sum + (offered?.version ?? 0), 0);
    const version = this.window.version + ofVariants + ofTexts;
    const cached = this.#multivariant;
    if (cached.version !== version) {
      const others = makers.flatMap(({ playlists, offered }) =>
        playlists.filter((_, index) => offered?.isListed(index)),
      );
      cached.text = multivariantPlaylist([this.#source, ...others], listed);
      cached.version = version;
    }
    return cached.text;
  }
}

interface VariantMaker {
  readonly playlists: MediaPlaylist[];
  offered: Variants | undefined;
}

/** Longest that a blocked reload waits while nobody publishes, ms. */
const HELD_WAIT = 8000;
/** Not 0, so that a composition offset below 0 leads to no time below 0; milliseconds. */
const ORIGIN = 9000;
/** Of the stream's age for each number of `PublishGrant.mediaSequence`; milliseconds. */
const QUARTER = 250;

/** The newest part of a window with a key frame, and its init. Undefined: there is none. `prefix`: of the names of its files. `known`: the one found last time. */
function newestKeyFrame(
  window: LiveWindow,
  { prefix, known }: { prefix: string; known: LiveKeyFrame | undefined },
): LiveKeyFrame | undefined {
  const { nextSequence } = window;
  for (let sequence = nextSequence; sequence >= 0; sequence -= 1) {
    const segment = window.segment(sequence);
    if (segment === undefined) {
      if (sequence < nextSequence) return undefined;
      continue;
    }
    const index = segment.parts.findLastIndex(({ isIndependent }) => isIndependent);
    const version = `${prefix}_${sequence}.${index}`;
    if (version === known?.version) return known;
    const bytes = index < 0 ? undefined : segment.read(index);
    if (bytes === undefined) continue;
    const { init } = segment;
    return { version, init: { id: `${prefix}_${init.id}`, bytes: init.blob }, part: new Blob([bytes]) };
  }
  return undefined;
}
