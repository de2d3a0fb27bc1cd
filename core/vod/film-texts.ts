import { ByteLru } from '../base/byte-lru.ts';
import { Fault } from '../base/fault.ts';
import { SingleFlight } from '../base/single-flight.ts';
import { within } from '../base/timing.ts';
import { mediaHead, segmentLines } from '../hls/playlist.ts';
import { checkedLanguage, checkedName } from '../hls/subtitles-name.ts';
import { timestampMap } from '../hls/web-vtt.ts';
import type { Blobs } from '../ports/blobs.ts';
import type { Clock } from '../ports/clock.ts';
import { textFileName } from './file-name.ts';
import type { FilmMedia } from './film-media.ts';
import { filmStart } from './film-start.ts';
import { version } from './media-playlist.ts';
import type { FilmIdentity, FilmTextTrack, TextTracksOf } from './text-tracks.ts';

/** Bytes of a WebVTT file: some 20 h of speech. */
const mostBytes = 2 * 1_048_576;
/** Of one film. */
const mostTracks = 16;
/** ms for which a plugin may look for its tracks. */
const patience = 2000;
/** ms for which the function of a plugin may read a file. */
const readPatience = 10_000;
/** How long a file that was read is kept, ms: a plugin may write another one. */
const kept = 10_000;
/** Bytes of all files that are kept or being read. */
const memory = 16 * 1_048_576;
/** Files that are read at one time, and requests that wait for them. */
const flights = { running: 16, waiting: 20_000 };
/** ms between two reports of the same trouble. */
const quiet = 60_000;

export interface FilmTextsOptions {
  readonly sources: readonly TextTracksOf[];
  readonly blobs: Pick<Blobs, 'get'>;
  readonly clock: Clock;
  /** One line for the operator. */
  onTrouble(message: string, fields: { readonly assetId: string; readonly error: unknown }): void;
}

/** A text track, checked. */
export type CheckedTrack = FilmTextTrack & { readonly isDefault: boolean };

/** The text tracks that plugins offer for stored films. Whatever they do, the film plays. */
export class FilmTexts {
  readonly #options: FilmTextsOptions;
  readonly #kept = new ByteLru<TextFile>({ bytes: memory });
  readonly #shared = new SingleFlight<TextFile | undefined>(flights);
  /** When each trouble was reported last, epoch ms. */
  readonly #reported = new Map<string, number>();

  constructor(options: FilmTextsOptions) {
    this.#options = options;
  }

  /** Of a film, as the playlist lists them. */
  async tracks(film: FilmIdentity, signal: AbortSignal): Promise<readonly CheckedTrack[]> {
    const { sources, clock } = this.#options;
    const found = await Promise.all(
      sources.map(async (source) => {
        try {
          const late = () => new Error(`there was no answer within ${patience} ms`);
          const asked = Promise.resolve(source(film, { signal }));
          return [...(await within(asked, { ms: patience, clock, late }))];
        } catch (error) {
          this.#report('text tracks of a film could not be read', { film, error });
          return [];
        }
      }),
    );
    const tracks: CheckedTrack[] = [];
    for (const track of found.flat()) {
      try {
        tracks.push(checked(track, tracks));
      } catch (error) {
        this.#report('a text track of a film is not offered', { film, error });
      }
    }
    return tracks;
  }

  /** The file of a track as players need it. Undefined: there is none. Fault `server.busy` (503). */
  async file(track: CheckedTrack, { film, media, signal }: AskedText): Promise<TextFile | undefined> {
    const { clock } = this.#options;
    const source = typeof track.vtt === 'function' ? '' : track.vtt.blob;
    const key = `${film.assetId} ${track.id} ${source}`;
    const known = this.#kept.get(key, clock.now());
    if (known) return known;
    const outcome = await this.#shared.wait(key, {
      signal,
      work: async (ended) => {
        const room = this.#kept.reserve(mostBytes);
        if (!room) throw busy;
        try {
          const file = await this.#make(track, { film, media, signal: ended });
          if (file) room.keep(key, file, { until: clock.now() + kept, bytes: file.bytes.length });
          return file;
        } finally {
          room.release();
        }
      },
    });
    // The client of `left` is gone and reads no answer.
    if (outcome === 'full' || outcome === 'left') throw busy;
    return outcome;
  }

  async #make({ vtt }: CheckedTrack, { film, media, signal }: AskedText): Promise<TextFile | undefined> {
    try {
      const text = typeof vtt === 'function' ? await this.#written(vtt) : await this.#read(vtt.blob, signal);
      const bytes = Buffer.from(mapped(text, await filmStart(media, signal)));
      return { bytes, tag: Bun.hash.xxHash64(bytes).toString(16).padStart(16, '0') };
    } catch (error) {
      if (signal.aborted) throw error;
      this.#report('a text track of a film could not be read', { film, error });
      return undefined;
    }
  }

  /** By a plugin, which does not hear that nobody waits any more: a text that never comes would keep its memory. */
  #written(text: () => Promise<string>): Promise<string> {
    const late = () => new Error(`there was no text within ${readPatience} ms`);
    return within((async () => text())(), { ms: readPatience, clock: this.#options.clock, late });
  }

  async #read(key: string, signal: AbortSignal): Promise<string> {
    const found = await this.#options.blobs.get(key, { signal });
    if (found.outcome !== 'ok') throw new Error(`there is no blob ${key}`);
    if (found.blob.size > mostBytes) {
      await found.body.cancel();
      throw tooLarge();
    }
    return new Response(found.body as ReadableStream<Uint8Array<ArrayBuffer>>).text();
  }

  #report(message: string, { film: { assetId }, error }: { film: FilmIdentity; error: unknown }): void {
    const now = this.#options.clock.now();
    if (now - (this.#reported.get(message) ?? Number.NEGATIVE_INFINITY) < quiet) return;
    this.#reported.set(message, now);
    this.#options.onTrouble(message, { assetId, error });
  }
}

/** The playlist of one segment, which is the whole file. @param duration of the film, seconds */
export function textPlaylist(id: string, { duration }: { duration: number }): string {
  // As EXTINF says it, with five digits.
  const target = Math.max(1, Math.round(Number(duration.toFixed(5))));
  const segment = segmentLines({ duration, uri: textFileName(id) });
  return `${mediaHead({ version, target })}#EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-MEDIA-SEQUENCE:0\n${segment}#EXT-X-ENDLIST\n`;
}

interface TextFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Another one, another text. */
  readonly tag: string;
}

interface AskedText {
  readonly film: FilmIdentity;
  readonly media: FilmMedia;
  readonly signal: AbortSignal;
}

/** Throws RangeError for what a playlist cannot list beside the others. */
function checked(track: FilmTextTrack, others: readonly FilmTextTrack[]): CheckedTrack {
  const { id, vtt } = track;
  const name = checkedName(track.name);
  const language = checkedLanguage(track.language);
  if (typeof id !== 'string' || !idPattern.test(id))
    throw new RangeError('the id of a text track has 1 to 32 of a-z, 0-9 and -');
  if (others.some((other) => other.id === id || other.name === name))
    throw new RangeError(`there is a text track with the id ${id} or the name ${name} already`);
  if (others.length === mostTracks) throw new RangeError(`a film has at most ${mostTracks} text tracks`);
  if (typeof vtt !== 'function' && typeof vtt?.blob !== 'string')
    throw new RangeError('the text of a track is the key of a blob, or a function');
  return { id, name, language, vtt, isDefault: track.isDefault === true };
}

const idPattern = /^[a-z0-9-]{1,32}$/;

/** The text with the time of the film that its times begin with, unless it says so itself. Throws where it is no WebVTT. */
function mapped(text: string, start: number): string {
  if (typeof text !== 'string' || Buffer.byteLength(text) > mostBytes) throw tooLarge();
  const plain = text.replace(/^\ufeff/, '');
  const [head = ''] = /^WEBVTT(?:[ \t][^\r\n]*)?(?:\r\n|\n|\r|$)/.exec(plain) ?? [];
  if (head === '') throw new RangeError('the file does not begin with WEBVTT');
  const [header] = plain.split(/(?:\r\n|\n|\r){2}/, 1);
  if (/^X-TIMESTAMP-MAP=/m.test(header)) return plain;
  return `${head.trimEnd()}\n${timestampMap(start)}\n${plain.slice(head.length)}`;
}

function tooLarge(): RangeError {
  return new RangeError(`the file is no text, or has more than ${mostBytes} bytes`);
}

const busy = new Fault('server.busy', {
  status: 503,
  message: 'Too many subtitles are being read. Try again.',
  retryAfter: 1,
});
