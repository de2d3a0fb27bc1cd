import type { Clock } from '../../../core/ports/clock.ts';
import type { Figures, LiveKeyFrame, PublishGrant, Vitals } from '../../../core/ports/media.ts';
import type { MemoryShare } from '../memory-budget.ts';
import type { OwnDelay } from '../own-delay.ts';
import type { PushRelay } from '../push/relay.ts';
import type { TakeFeed } from '../recording/feed.ts';
import type { MediaSink } from '../sink.ts';
import { Dvr } from './dvr.ts';
import { Ingest } from './ingest.ts';
import { newestKeyFrame } from './key-frame.ts';
import { type OutputConfig, outputDefaults } from './limits.ts';
import {
  DVR_PLAYLIST,
  MEDIA_PLAYLIST,
  MULTIVARIANT_PLAYLIST,
  mediaPlaylist,
  multivariantPlaylist,
  parseName,
} from './playlist.ts';
import type { BufferPool } from './pool.ts';
import { answers } from './responses.ts';
import { RecordingTap } from './tap.ts';
import { Waiters } from './waiters.ts';
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
  /** Where the media of an earlier output of this playbackId ended, milliseconds on its timeline. */
  readonly after?: number;
  /** One line for the operator; no secrets. */
  readonly log?: (line: string) => void;
  readonly config?: Partial<OutputConfig>;
}

export interface Attachment {
  readonly grant: PublishGrant;
  /** Where it is recorded; undefined: it is not. */
  readonly recording?: {
    /** Its feed; undefined when it is not to be had. Called once, when a former publish is over. */
    open(): TakeFeed | undefined;
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
  readonly #window: LiveWindow;
  readonly #waiters: Waiters;
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
  /** Where media ends on the timeline, milliseconds. What earlier outputs gave to viewers and recordings lies before. */
  #end: number;
  #isNumbered = false;
  /** Rendered when first asked for, shared by all who ask before the next part. */
  readonly #rendered = {
    media: { version: -1, text: '' },
    delta: { version: -1, text: '' },
    multivariant: { version: -1, text: '' },
  };

  constructor(options: LiveOutputOptions) {
    const { clock, pool, memory, delay, after = 0, log = () => {}, config } = options;
    this.#end = after;
    this.#memory = memory;
    this.#delay = delay;
    this.#relay = options.relay;
    this.#clock = clock;
    this.#log = log;
    this.#config = { ...outputDefaults, ...config };
    this.#window = new LiveWindow({ clock, pool, config: this.#config, memory: memory?.hold() });
    this.#waiters = new Waiters({ clock, limit: this.#config.waiterLimit });
    this.#window.onChange = () => this.#onChange();
    this.#prefix = Buffer.from(crypto.getRandomValues(new Uint8Array(6))).toString('hex');
    this.#dvr = new Dvr({ clock, prefix: this.#prefix, config: this.#config, memory: memory?.hold() });
  }

  /** True from the first listed segment until `end`. */
  get isPlayable(): boolean {
    return !this.#hasEnded && this.#window.hasListed;
  }

  /** Bytes the window holds. */
  get bytes(): number {
    return this.#window.bytes;
  }

  /** Where a playlist that follows this one may begin to count. */
  get reached(): { mediaSequence: number; discontinuitySequence: number; end: number } {
    return { ...this.#window.reached, end: this.#end };
  }

  /** Requests that wait now. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /** Takes a new publish; a former one that is still here is over at once, its sink inert. */
  attach(attachment: Attachment): MediaSink & { figures(): Figures } {
    const { grant } = attachment;
    this.#release();
    this.#window.number(grant);
    if (!this.#isNumbered) this.#end = Math.max(this.#end, ORIGIN + grant.mediaSequence * QUARTER);
    this.#isNumbered = true;
    this.#knownTarget = Math.max(this.#knownTarget, grant.targetDuration, this.#config.targetDuration);
    this.#attachment = attachment;
    this.#isPublishing = !this.#hasEnded;
    const { recording } = attachment;
    const tap = recording === undefined || this.#hasEnded ? undefined : new RecordingTap(recording);
    this.#window.tap = tap;
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
      onFatal: (reason) => {
        this.#log(`publish ${grant.token} ended: ${reason}`);
        attachment.onFatal(reason);
      },
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
    this.#waiters.shorten(this.#patience());
  }

  /** Over for good: everything is 404 and the memory is let go. */
  end(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#isPublishing = false;
    this.#release();
    this.#relay?.end();
    this.#window.clear();
    this.#dvr.end();
    this.#memory?.close();
    this.#waiters.wake();
  }

  /** Of the publish attached last; undefined before any. Still readable after `detach`. */
  figures(): Figures | undefined {
    return this.#ingest?.figures() ?? this.#figures;
  }

  /** The same of how its media comes. */
  vitals(): Vitals | undefined {
    return this.#ingest?.vitals() ?? this.#vitals;
  }

  /** For `Media.keyFrame`. */
  keyFrame(): LiveKeyFrame | 'none' | undefined {
    return this.isPlayable ? (newestKeyFrame(this.#window, this.#prefix) ?? 'none') : undefined;
  }

  /** Answers a GET for one file. `query` counts for playlists only. */
  serve(file: string, query?: URLSearchParams, signal?: AbortSignal): Response | Promise<Response> {
    if (this.#hasEnded) return answers.missing();
    if (file === MEDIA_PLAYLIST) return this.#serveMedia(query, signal);
    if (file === MULTIVARIANT_PLAYLIST) {
      if (!this.isPlayable) return answers.missing();
      if (query?.get('dvr') === '1') return this.#serveDvr('multivariant');
      return answers.playlist(this.#render('multivariant'), this.#window.targetDuration);
    }
    if (file === DVR_PLAYLIST) return this.#serveDvr(kindAsked(query));
    const ref = parseName(file, this.#prefix);
    if (ref === undefined) return answers.missing();
    if (ref.type === 'init') return answers.media(this.#window.initBlob(ref.id));
    if (ref.type === 'segment') return answers.media(this.#window.segment(ref.sequence)?.whole());
    if (ref.type === 'dvrSegment') return this.#dvr.segment(ref.sequence);
    if (ref.type === 'dvrInit') return this.#dvr.init(ref.id);
    const { sequence, part } = ref;
    const blob = this.#window.segment(sequence)?.part(part);
    if (blob !== undefined || !this.#isHinted(sequence, part)) return answers.media(blob);
    return this.#wait(signal, {
      attempt: () => {
        const made = this.#window.segment(sequence)?.part(part);
        return made === undefined && this.#isHinted(sequence, part) ? undefined : answers.media(made);
      },
      expire: () => answers.missing(),
    });
  }

  #serveDvr(kind: 'multivariant' | 'media' | 'delta'): Response | Promise<Response> {
    if (!this.isPlayable) return answers.missing();
    return this.#dvr.playlist(kind, this.#window.targetDuration);
  }

  #onChange(): void {
    this.#waiters.wake();
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
  }

  /** Delta updates and blocking reload, RFC 8216bis 6.2.5; other directives are let be. */
  #serveMedia(
    query: URLSearchParams | undefined,
    signal: AbortSignal | undefined,
  ): Response | Promise<Response> {
    const askedSegment = query?.get('_HLS_msn') ?? undefined;
    const askedPart = query?.get('_HLS_part') ?? undefined;
    if (!this.isPlayable) return answers.missing();
    const kind = kindAsked(query);
    if (askedSegment === undefined && askedPart === undefined) return this.#answerMedia(kind);
    if (askedSegment === undefined) return answers.refusal('_HLS_part needs _HLS_msn');
    const sequence = wholeNumber(askedSegment);
    const part = askedPart === undefined ? -1 : wholeNumber(askedPart);
    if (sequence === undefined || part === undefined)
      return answers.refusal('_HLS_msn and _HLS_part are whole numbers');
    if (this.#isTooFar(sequence, part)) return answers.refusal('no such part will be made soon');
    if (this.#has(sequence, part)) return this.#answerMedia(kind);
    return this.#wait(signal, {
      attempt: () => (this.#hasEnded || this.#has(sequence, part) ? this.#answerMedia(kind) : undefined),
      // No media flows: unchanged, because players give up on repeated errors. Who has only just come back
      // has sent none yet.
      expire: () => (this.#window.hint === undefined ? this.#answerMedia(kind) : answers.busy()),
    });
  }

  #wait(
    signal: AbortSignal | undefined,
    waiter: { attempt(): Response | undefined; expire(): Response },
  ): Response | Promise<Response> {
    if (this.#waiters.isFull) return answers.busy();
    return this.#waiters.wait(waiter, { timeout: this.#patience(), signal });
  }

  /** Longest a request may wait now, milliseconds. */
  #patience(): number {
    const ordinary = 3000 * this.#window.targetDuration;
    return this.#isPublishing ? ordinary : Math.min(ordinary, this.#config.heldWait);
  }

  #answerMedia(kind: 'media' | 'delta'): Response {
    if (!this.isPlayable) return answers.missing();
    return answers.playlist(this.#render(kind), 1);
  }

  /** True when the playlist holds that part, or that whole segment for part -1. */
  #has(sequence: number, part: number): boolean {
    const next = this.#window.nextSequence;
    if (sequence > next) return false;
    if (sequence === next) return part >= 0 && part < (this.#window.open?.parts.length ?? 0);
    const segment = this.#window.segment(sequence);
    // A part behind the last of a finished segment is the first of the one that follows it.
    if (sequence === next - 1 && segment !== undefined && part >= segment.parts.length)
      return this.#has(next, 0);
    return true;
  }

  #isTooFar(sequence: number, part: number): boolean {
    const next = this.#window.nextSequence;
    // The last segment listed is next - 1.
    if (sequence > next + 1) return true;
    const advance = Math.ceil(3 / Math.min(1, this.#config.partTarget));
    const made = sequence === next ? (this.#window.open?.parts.length ?? 0) : 0;
    return sequence >= next && part >= made + advance;
  }

  #isHinted(sequence: number, part: number): boolean {
    const { hint } = this.#window;
    return !this.#hasEnded && hint?.sequence === sequence && hint.part === part;
  }

  #render(kind: 'media' | 'delta' | 'multivariant'): string {
    const { version } = this.#window;
    const cached = this.#rendered[kind];
    if (cached.version === version) return cached.text;
    const source = { window: this.#window, prefix: this.#prefix, partTarget: this.#config.partTarget };
    cached.text =
      kind === 'multivariant'
        ? multivariantPlaylist(source)
        : mediaPlaylist(source, { isDelta: kind === 'delta' });
    cached.version = version;
    return cached.text;
  }
}

/** Not 0, so that a composition offset below 0 leads to no time below 0; milliseconds. */
const ORIGIN = 9000;
/** Of the stream's age for each number of `PublishGrant.mediaSequence`; milliseconds. */
const QUARTER = 250;

/** v2 also leaves out date ranges, of which there are none. Another value is one of a later version. */
function kindAsked(query: URLSearchParams | undefined): 'delta' | 'media' {
  const skip = query?.get('_HLS_skip');
  return skip === 'YES' || skip === 'v2' ? 'delta' : 'media';
}

function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
