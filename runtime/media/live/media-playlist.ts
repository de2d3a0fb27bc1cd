import type { Clock } from '../../../core/ports/clock.ts';
import type { LiveAnswer } from '../../../core/ports/media.ts';
import { busy, mediaAnswer, missing, refusal } from './answers.ts';
import type { OutputConfig } from './config.ts';
import type { FileNames } from './names.ts';
import { mediaPlaylist, renditionReport } from './playlist.ts';
import type { SegmentMedia } from './segment.ts';
import { type Waiter, Waiters } from './waiters.ts';
import type { LiveWindow } from './window.ts';

export interface MediaPlaylistOptions {
  readonly clock: Clock;
  readonly window: LiveWindow;
  /** Its own, beside the playlists of the same broadcast. */
  readonly name: string;
  readonly files: PlaylistFiles;
  readonly config: OutputConfig;
  readonly broadcast: PlaylistContext;
}

/** What a media playlist lists. Undefined: there is no such file, or not yet. */
export interface PlaylistFiles {
  readonly names: FileNames;
  segment(sequence: number): SegmentMedia | Blob | undefined;
  part(sequence: number, part: number): SegmentMedia | Blob | undefined;
}

/** What a media playlist must know of the broadcast that it shows, and of the other playlists of it. */
export interface PlaylistContext {
  /** Nothing is answered any more, whatever the windows still hold. */
  readonly hasEnded: boolean;
  /** Longest a request may wait now, ms. */
  readonly patience: number;
  /** As many requests wait as may. */
  readonly isFull: boolean;
  /** All media playlists, those of which nothing is listed among them. */
  readonly playlists: readonly MediaPlaylist[];
  /** Those of text tracks, which follow the window of the source. */
  readonly texts: readonly MediaPlaylist[];
  /** Seconds by which PART-HOLD-BACK of this one is above the least that is allowed. */
  reserveOf(playlist: MediaPlaylist): number;
}

/** One media playlist as it is served: blocking reload, delta updates, hinted parts (RFC 8216bis 6.2). */
export class MediaPlaylist {
  readonly window: LiveWindow;
  readonly #options: MediaPlaylistOptions;
  readonly #broadcast: PlaylistContext;
  readonly #waiters: Waiters<LiveAnswer>;
  /** Rendered when first asked for, shared by all who ask before the next part of any playlist. */
  readonly #rendered = {
    media: { version: -1, reserve: 0, texts: 0, text: '' },
    delta: { version: -1, reserve: 0, texts: 0, text: '' },
  };

  constructor(options: MediaPlaylistOptions) {
    this.#options = options;
    this.window = options.window;
    this.#broadcast = options.broadcast;
    this.#waiters = new Waiters(options.clock);
  }

  get name(): string {
    return this.#options.name;
  }

  /** Something is listed. */
  get isPlayable(): boolean {
    return this.window.hasListed && !this.#broadcast.hasEnded;
  }

  /** Requests that wait now. */
  get waiting(): number {
    return this.#waiters.size;
  }

  /** The window has changed. */
  wake(): void {
    this.#waiters.wake();
  }

  /** From now on nobody waits longer than the broadcast has patience. */
  shorten(): void {
    this.#waiters.shorten(this.#broadcast.patience);
  }

  /** The playlist. Delta updates and blocking reload, RFC 8216bis 6.2.5; other directives are let be. */
  serve(query?: URLSearchParams, signal?: AbortSignal): LiveAnswer | Promise<LiveAnswer> {
    const askedSegment = query?.get('_HLS_msn') ?? undefined;
    const askedPart = query?.get('_HLS_part') ?? undefined;
    if (!this.isPlayable) return missing;
    this.window.asked();
    const kind = kindAsked(query);
    if (askedSegment === undefined && askedPart === undefined) return this.#answer(kind);
    if (askedSegment === undefined) return refusal('_HLS_part needs _HLS_msn');
    const sequence = wholeNumber(askedSegment);
    const part = askedPart === undefined ? -1 : wholeNumber(askedPart);
    if (sequence === undefined || part === undefined)
      return refusal('_HLS_msn and _HLS_part are whole numbers');
    if (this.#isTooFar(sequence, part)) return refusal('no such part will be made soon');
    if (this.#has(sequence, part)) return this.#answer(kind);
    return this.#wait(signal, {
      // Once nothing is listed any more, nobody waits for what will not be.
      attempt: () => (!this.isPlayable || this.#has(sequence, part) ? this.#answer(kind) : undefined),
      // No media flows: unchanged, because players give up on repeated errors. Who has only just come back
      // has sent none yet.
      expire: () => (this.window.hint === undefined ? this.#answer(kind) : busy),
    });
  }

  init(id: number): LiveAnswer {
    return mediaAnswer(this.window.initBlob(id));
  }

  segment(sequence: number): LiveAnswer {
    return mediaAnswer(this.#options.files.segment(sequence));
  }

  /** A part, also the one that is hinted: it is waited for. */
  part(
    { sequence, part }: { sequence: number; part: number },
    signal?: AbortSignal,
  ): LiveAnswer | Promise<LiveAnswer> {
    const { files } = this.#options;
    const media = files.part(sequence, part);
    if (media !== undefined || !this.#isHinted(sequence, part)) return mediaAnswer(media);
    return this.#wait(signal, {
      attempt: () => {
        if (this.#broadcast.hasEnded) return missing;
        const made = files.part(sequence, part);
        return made === undefined && this.#isHinted(sequence, part) ? undefined : mediaAnswer(made);
      },
      expire: () => missing,
    });
  }

  #wait(signal: AbortSignal | undefined, waiter: Waiter<LiveAnswer>): LiveAnswer | Promise<LiveAnswer> {
    const { isFull, patience } = this.#broadcast;
    if (isFull) return busy;
    return this.#waiters.wait(waiter, { timeout: patience, signal });
  }

  #answer(kind: 'media' | 'delta'): LiveAnswer {
    if (!this.isPlayable) return missing;
    this.window.asked();
    return { type: 'playlist', body: this.#render(kind), maxAge: 1 };
  }

  /** True when the playlist holds that part, or that whole segment for part -1. */
  #has(sequence: number, part: number): boolean {
    const next = this.window.nextSequence;
    if (sequence > next) return false;
    if (sequence === next) return part >= 0 && part < (this.window.open?.parts.length ?? 0);
    const segment = this.window.segment(sequence);
    // A part behind the last of a finished segment is the first of the one that follows it.
    if (sequence === next - 1 && segment !== undefined && part >= segment.parts.length)
      return this.#has(next, 0);
    return true;
  }

  #isTooFar(sequence: number, part: number): boolean {
    const next = this.window.nextSequence;
    // The last segment listed is next - 1.
    if (sequence > next + 1) return true;
    const advance = Math.ceil(3 / Math.min(1, this.#options.config.partTarget));
    const made = sequence === next ? (this.window.open?.parts.length ?? 0) : 0;
    return sequence >= next && part >= made + advance;
  }

  #isHinted(sequence: number, part: number): boolean {
    const { hint } = this.window;
    return hint?.sequence === sequence && hint.part === part;
  }

  #render(kind: 'media' | 'delta'): string {
    const { window } = this;
    const { playlists, texts } = this.#broadcast;
    const reserve = this.#broadcast.reserveOf(this);
    const rendered = this.#rendered[kind];
    // Versions only grow: none of them is another one while their sum is the same.
    const version = playlists.reduce((sum, other) => sum + other.window.version, 0);
    const isCurrent = rendered.version === version && rendered.reserve === reserve;
    // Text tracks are added, and never taken away.
    if (!isCurrent || rendered.texts !== texts.length) {
      const { files, config } = this.#options;
      const source = { window, names: files.names, partTarget: config.partTarget, reserve };
      let text = mediaPlaylist(source, { isDelta: kind === 'delta' });
      for (const other of [...playlists, ...texts])
        if (other !== this && other.isPlayable) text += renditionReport(other.window, other.name);
      this.#rendered[kind] = { version, reserve, texts: texts.length, text };
    }
    return this.#rendered[kind].text;
  }
}

/** v2 also leaves out date ranges, of which there are none. Another value is one of a later version. */
export function kindAsked(query: URLSearchParams | undefined): 'delta' | 'media' {
  const skip = query?.get('_HLS_skip');
  return skip === 'YES' || skip === 'v2' ? 'delta' : 'media';
}

function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
