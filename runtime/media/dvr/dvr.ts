import type { Clock } from '../../../core/ports/clock.ts';
import type { LiveAnswer } from '../../../core/ports/media.ts';
import { busy, missing, unrecorded } from '../live/answers.ts';
import { kindAsked } from '../live/media-playlist.ts';
import { MULTIVARIANT_PLAYLIST } from '../live/names.ts';
import type { MemoryHold } from '../publish/memory-budget.ts';
import type { WrittenTake } from '../recording/feed.ts';
import { DVR_PLAYLIST, EventPlaylist, parseDvrName } from './event-playlist.ts';

export interface DvrOptions {
  readonly clock: Clock;
  /** Begins every file name. */
  readonly prefix: string;
  /** What its text counts against. */
  readonly memory?: MemoryHold | undefined;
}

/** A live broadcast from its first second, out of the recording that grows on this node. */
export class Dvr {
  readonly #options: DvrOptions;
  #sessionId: string | undefined;
  /** Of that session, as it was last seen. */
  #take: WrittenTake | undefined;
  /** Its publish that came last is recorded. */
  #isOn = false;
  /** With which numbers its playlist and its files begin: no name ever stands for two things. */
  #first = { sequence: 0, discontinuities: 0, init: 0 };
  #playlist: EventPlaylist | undefined;
  #catchingUp: Promise<void> | undefined;
  #askedAt = 0;
  #cancel: (() => void) | undefined;

  constructor(options: DvrOptions) {
    this.#options = options;
  }

  /** Another publish has come. `take`: where it is recorded; undefined: it is not. */
  follow(sessionId: string, take: WrittenTake | undefined): void {
    if (this.#take !== undefined && this.#sessionId !== sessionId) {
      const { sequence, discontinuities, init } = this.#first;
      this.#first = {
        sequence: sequence + this.#take.count,
        discontinuities: discontinuities + (this.#playlist?.discontinuities ?? 0) + 1,
        init: init + this.#take.inits.length,
      };
      this.end();
    }
    this.#sessionId = sessionId;
    this.#isOn = take !== undefined;
    if (take === undefined) return;
    this.#take = take;
    if (this.#playlist !== undefined) this.#playlist.take = take;
  }

  /** Answers a GET; undefined: it is no file of DVR. `target`: EXT-X-TARGETDURATION of the live playlist, seconds. */
  serve(
    file: string,
    {
      query,
      target,
      signal,
    }: { query?: URLSearchParams | undefined; target: number; signal?: AbortSignal | undefined },
  ): LiveAnswer | Promise<LiveAnswer> | undefined {
    if (file === DVR_PLAYLIST) return this.#answerPlaylist(kindAsked(query), target);
    if (file === MULTIVARIANT_PLAYLIST)
      return query?.get('dvr') === '1' ? this.#answerPlaylist('multivariant', target) : undefined;
    const asked = parseDvrName(file, this.#options.prefix);
    if (asked === undefined) return undefined;
    return this.#media(asked.isInit ? this.#init(asked.number) : this.#segment(asked.number), signal);
  }

  #answerPlaylist(kind: DvrKind, target: number): LiveAnswer | Promise<LiveAnswer> {
    if (!this.#hasMedia) return unrecorded;
    this.#askedAt = this.#options.clock.now();
    this.#cancel ??= this.#forgetLater();
    this.#playlist ??= this.#begin();
    if (!this.#playlist.isFarBehind) return this.#answer(kind, target);
    this.#catchingUp ??= this.#catchUp(target).finally(() => {
      this.#catchingUp = undefined;
    });
    return this.#catchingUp.then(() => this.#answer(kind, target));
  }

  #segment(number: number): Place | undefined {
    const place = number - this.#first.sequence;
    const { count = 0 } = this.#take ?? {};
    return place >= 0 && place < count ? this.#take?.segment(place) : undefined;
  }

  #init(number: number): Place | undefined {
    return this.#take?.inits[number - this.#first.init];
  }

  /** Lets go of what was written; it is written anew when somebody asks. */
  forget(): void {
    this.#cancel?.();
    this.#cancel = this.#playlist = undefined;
    this.#options.memory?.resize(0);
  }

  /** There is nothing of it any more. */
  end(): void {
    this.#isOn = false;
    this.#take = undefined;
    this.forget();
  }

  get #hasMedia(): boolean {
    return this.#isOn && this.#take !== undefined && this.#take.count > 0;
  }

  async #media(place: Place | undefined, signal: AbortSignal | undefined): Promise<LiveAnswer> {
    if (!this.#isOn || place === undefined || this.#take === undefined) return missing;
    const { at, size } = place;
    // The recording may have been finished, and its file moved away.
    const body = await this.#take.read(at, at + size, signal);
    return body === undefined ? missing : { type: 'media', body, size };
  }

  #begin(): EventPlaylist {
    const { prefix } = this.#options;
    return new EventPlaylist(this.#take as WrittenTake, {
      prefix,
      first: this.#first,
      chunk: CHUNK,
      most: MOST,
    });
  }

  /** A long recording that nobody asked for yet: the thread that reads sockets has other work in between. */
  async #catchUp(target: number): Promise<void> {
    while (this.#playlist?.isFarBehind) {
      if (!this.#advance(this.#playlist, target)) return;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #answer(kind: DvrKind, target: number): LiveAnswer {
    const playlist = this.#playlist;
    // Gone while it was caught up with: it is over, or there is no memory.
    if (playlist === undefined) return this.#hasMedia ? busy : unrecorded;
    if (!this.#advance(playlist, target)) return busy;
    if (kind === 'multivariant')
      return { type: 'playlist', body: playlist.multivariant(DVR_PLAYLIST), maxAge: target };
    const delta = kind === 'delta' ? playlist.delta(target) : undefined;
    return { type: 'playlist', body: delta ?? playlist.whole(target), maxAge: 1 };
  }

  /** False when there is no memory for more text. */
  #advance(playlist: EventPlaylist, target: number): boolean {
    playlist.advance(target);
    if (this.#options.memory?.resize(playlist.bytes) !== false) return true;
    this.forget();
    return false;
  }

  #forgetLater(): () => void {
    const { clock } = this.#options;
    return clock.at(this.#askedAt + KEPT, () => {
      this.#cancel = undefined;
      if (clock.now() - this.#askedAt >= KEPT) this.forget();
      else this.#cancel = this.#forgetLater();
    });
  }
}

/** Bytes of the file of a recording. */
type Place = { readonly at: number; readonly size: number };

type DvrKind = 'multivariant' | 'media' | 'delta';

/** How long text is kept for the next who asks, ms. */
export const KEPT = 60_000;
/** Segments whose lines are written in one turn of the event loop. */
export const CHUNK = 256;
/** Segments that are listed: 27 h of 2 s. Beyond, the oldest go, and the playlist is no EVENT any more. */
const MOST = 50_000;
