import type { Clock } from '../../../core/ports/clock.ts';
import type { LiveAnswer } from '../../../core/ports/media.ts';
import { busy, missing, unrecorded } from '../live/answers.ts';
import { kindAsked } from '../live/media-playlist.ts';
import { MULTIVARIANT_PLAYLIST } from '../live/names.ts';
import type { MemoryHold } from '../publish/memory-budget.ts';
import type { WrittenRecording } from '../recording/feed.ts';
import { DVR_PLAYLIST, type DvrFile, EventPlaylist, parseDvrName } from './event-playlist.ts';

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
  #take: WrittenRecording | undefined;
  /** Its publish that came last is recorded. */
  #isOn = false;
  /** With which numbers its playlist and its files begin: no name ever stands for two things. */
  #first = { sequence: 0, discontinuities: 0, init: 0 };
  #playlist: EventPlaylist | undefined;
  #catchingUp: Promise<void> | undefined;
  #cancel = () => {};

  constructor(options: DvrOptions) {
    this.#options = options;
  }

  /** Another publish has come. `take`: where it is recorded; undefined: it is not. */
  follow(sessionId: string, take: WrittenRecording | undefined): void {
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
    return this.#media(asked, signal);
  }

  #answerPlaylist(kind: DvrKind, target: number): LiveAnswer | Promise<LiveAnswer> {
    if (!this.#hasMedia) return unrecorded;
    const { clock, prefix } = this.#options;
    this.#cancel();
    this.#cancel = clock.at(clock.now() + KEPT, () => this.forget());
    this.#playlist ??= new EventPlaylist(this.#take as WrittenRecording, {
      prefix,
      first: this.#first,
      chunk: CHUNK,
      most: MOST,
    });
    if (!this.#playlist.isFarBehind) return this.#answer(kind, target);
    this.#catchingUp ??= this.#catchUp(target).finally(() => {
      this.#catchingUp = undefined;
    });
    return this.#catchingUp.then(() => this.#answer(kind, target));
  }

  /** Lets go of what was written; it is written anew when somebody asks. */
  forget(): void {
    this.#cancel();
    this.#playlist = undefined;
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

  async #media(asked: DvrFile, signal: AbortSignal | undefined): Promise<LiveAnswer> {
    const take = this.#take;
    if (!this.#isOn || take === undefined) return missing;
    const number = asked.number - (asked.isInit ? this.#first.init : this.#first.sequence);
    if (number < 0 || number >= (asked.isInit ? take.inits.length : take.count)) return missing;
    const { at, size } = asked.isInit ? take.inits[number] : take.segment(number);
    // The recording may have been finished, and its file moved away.
    const body = await take.read(at, at + size, signal);
    return body === undefined ? missing : { type: 'media', body, size };
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
}

type DvrKind = 'multivariant' | 'media' | 'delta';

/** How long text is kept for the next who asks, ms. */
export const KEPT = 60_000;
/** Segments whose lines are written in one turn of the event loop. */
export const CHUNK = 256;
/** Segments that are listed: 27 h of 2 s. Beyond, the oldest go, and the playlist is no EVENT any more. */
const MOST = 50_000;
