import { createHash } from 'node:crypto';
import { Fault } from '../base/fault.ts';
import { multivariantPlaylist, playlistType } from '../hls/playlist.ts';
import { takesGzip } from '../http/accept-encoding.ts';
import { type FilePiece, fileAnswer, fileFaults } from '../http/file-answer.ts';
import { preconditions } from '../http/preconditions.ts';
import type { Blobs } from '../ports/blobs.ts';
import {
  mediaName,
  type NumberedFile,
  parseFileName,
  type TextFileName,
  textPlaylistName,
  wholeName,
} from './file-name.ts';
import { type FilmFile, filmMedia, piecesOf } from './film-media.ts';
import { type CheckedTrack, type FilmTexts, textPlaylist } from './film-texts.ts';
import { type Film, Films, type IndexedFilm } from './films.ts';
import { version } from './media-playlist.ts';
import { type SegmentIndex, variantOf } from './segment-index.ts';

/** Seconds for which caches may keep a playlist, and a film as one file: so long a deleted one may still be found there. */
const playlistAge = 60;
const fileAge = 3600;
/** The same for segments and inits, which can only be found by the playlist: a week. */
const segmentAge = 7 * 24 * 3600;

/** Playback of films that lie in the blob store, over HLS and as files. */
export interface Vod {
  /**
   * Answers GET and HEAD of a file of a film, by its name below the film's address. Undefined: a film has no file of that
   * name, or it is not in the blob store. Faults: `vodFaults`.
   */
  answer(
    film: Film,
    asked: { readonly name: string; readonly request: Request },
  ): Promise<Response | undefined>;
  /** What films have besides. */
  readonly files: readonly FilmFile[];
  /** Bytes that indexes and playlists take now. */
  readonly bytes: number;
}

/** Codes of what `answer` throws or answers with, beside a file. */
export const vodFaults = [...fileFaults, 'server.busy'] as const;

/**
 * @param options `bytes`: the most that kept indexes and playlists take together; `files`: what films have besides; `texts`: their
 * text tracks
 */
export function vod(options: VodOptions): Vod {
  return new FilmVod(options);
}

interface VodOptions {
  readonly blobs: Pick<Blobs, 'get'>;
  readonly bytes: number;
  readonly files?: readonly FilmFile[];
  readonly texts?: FilmTexts;
}

class FilmVod implements Vod {
  readonly files: readonly FilmFile[];
  readonly #blobs: Pick<Blobs, 'get'>;
  readonly #films: Films;
  readonly #texts: FilmTexts | undefined;

  constructor({ blobs, bytes, files = [], texts }: VodOptions) {
    this.files = files;
    this.#blobs = blobs;
    this.#films = new Films({ blobs, bytes });
    this.#texts = texts;
  }

  get bytes(): number {
    return this.#films.bytes;
  }

  async answer(film: Film, { name, request }: { readonly name: string; readonly request: Request }) {
    const { signal } = request;
    const blobs = this.#blobs;
    const beside = this.files.find((one) => one.name === name);
    if (beside) return this.#beside(beside, { film, request });
    const file = parseFileName(name);
    if (file?.type === 'whole') return wholeOf(film, { request, blobs });
    if (!file || !isIndexed(film)) return undefined;
    if (file.type === 'multivariant') return this.#multivariant(film, request);
    if ('id' in file) return this.#text(film, { name: file, request });
    const shown = shownAs(film, file.variant);
    if (!shown) return undefined;
    if (file.type === 'media') return this.#playlist(shown, { variant: file.variant, request });
    const index = await this.#films.index(shown, { signal });
    const found = index && find(index, file);
    const pieces = found && (await piecesOf(shown, found, { blobs, signal }));
    return pieces && fileOf(shown, { request, blobs, pieces, name, tag: name, age: segmentAge });
  }

  async #beside(file: FilmFile, { film, request }: { film: Film; request: Request }) {
    if (!isIndexed(film)) return undefined;
    const index = await this.#films.index(film, { signal: request.signal });
    return index && file.answer(film, { request, media: filmMedia(film, { index, blobs: this.#blobs }) });
  }

  #playlist(film: IndexedFilm, { variant, request }: { variant: number; request: Request }) {
    const isCompressed = takesGzip(request.headers.get('accept-encoding'));
    const tag = tagOf(film, isCompressed ? 'media-gzip' : 'media');
    const asked = { signal: request.signal, variant };
    return playlistAnswer(request, {
      tag,
      isCompressed,
      read: async () => (await this.#films.playlist(film, asked))?.[isCompressed ? 'gzip' : 'plain'],
    });
  }

  async #multivariant(film: IndexedFilm, request: Request) {
    const { signal } = request;
    const index = await this.#films.index(film, { signal });
    if (!index) return undefined;
    const variants = [variantOf(index), ...(film.renditions ?? []).map(({ variant }) => variant)];
    const all = variants.map((variant, number) => ({ variant, uri: mediaName(number) }));
    const subtitles = (await this.#tracks(film, signal)).map(({ id, name, language, isDefault }) => ({
      ...{ name, language, isDefault },
      uri: textPlaylistName(id),
    }));
    const tag = tagOf(film, `multivariant${renditionsTag(film)}${subtitlesTag(subtitles)}`);
    return playlistAnswer(request, {
      tag,
      read: async () => multivariantPlaylist(all, { version, subtitles }),
    });
  }

  async #text(film: IndexedFilm, { name: { type, id }, request }: AskedTextFile) {
    const { signal } = request;
    const { identity } = film;
    const track = (await this.#tracks(film, signal)).find((one) => one.id === id);
    const index = track && (await this.#films.index(film, { signal }));
    if (!track || !index || !identity || !this.#texts) return undefined;
    if (type === 'texts') {
      const read = async () => textPlaylist(id, { duration: index.starts[index.count] });
      return playlistAnswer(request, { tag: tagOf(film, `texts-${id}`), read });
    }
    const media = filmMedia(film, { index, blobs: this.#blobs });
    const file = await this.#texts.file(track, { film: identity, media, signal });
    const answer =
      file && (await playlistAnswer(request, { ...file, type: textType, read: async () => file.bytes }));
    answer?.headers.set('x-content-type-options', 'nosniff');
    return answer;
  }

  async #tracks({ identity }: Film, signal: AbortSignal): Promise<readonly CheckedTrack[]> {
    return identity && this.#texts ? this.#texts.tracks(identity, signal) : [];
  }
}

interface AskedTextFile {
  readonly name: TextFileName;
  readonly request: Request;
}

const textType = 'text/vtt; charset=utf-8';

interface AskedFile {
  readonly request: Request;
  readonly blobs: Pick<Blobs, 'get'>;
  readonly pieces: readonly FilePiece[];
  readonly name: string;
  readonly tag: string;
  /** Seconds for which caches may keep it. */
  readonly age: number;
}

async function fileOf(film: Film, asked: AskedFile): Promise<Response | undefined> {
  const { request, blobs, pieces, name, tag, age } = asked;
  const file = { pieces, etag: tagOf(film, tag), type: 'video/mp4', ending: 'mp4', name };
  const answer = await fileAnswer(request, { blobs, file });
  const suffix = age === segmentAge ? ', immutable' : '';
  if (answer && answer.status < 400) answer.headers.set('cache-control', `public, max-age=${age}${suffix}`);
  return answer;
}

async function wholeOf(film: Film, of: Pick<AskedFile, 'request' | 'blobs'>): Promise<Response | undefined> {
  const { video, head } = film;
  const pieces = head
    ? [
        { key: head.key, from: 0, to: head.size },
        { key: video.key, from: head.from, to: head.to },
      ]
    : [{ key: video.key, from: 0, to: video.size }];
  return fileOf(film, { ...of, pieces, name: wholeName, tag: 'whole', age: fileAge });
}

/** Headers that a page of another origin must be let to see, RFC 9110. */
export const exposed = 'Accept-Ranges, Age, Content-Length, Content-Range, Date, ETag, Retry-After';

/** Where it lies. What a rendition borrows from its source has one name, that of the source. */
function find(index: SegmentIndex, { type, number }: NumberedFile) {
  if (type === 'segment' && number >= index.count) return undefined;
  const segment = type === 'segment' ? index.segment(number) : undefined;
  const init = index.inits[segment?.init ?? number];
  if (init === undefined || init.ofSource !== undefined) return undefined;
  const { at, size } = segment ?? init;
  return { type, at, size };
}

/** The film, or a rendition of it as one of its own; undefined: it has no such rendition. */
function shownAs(film: IndexedFilm, variant: number): IndexedFilm | undefined {
  if (variant === 0) return film;
  const rendition = film.renditions?.[variant - 1];
  return rendition && { video: rendition.video, index: rendition.index };
}

/** A playlist is made only for who does not have it: its tag is known before. */
async function playlistAnswer(
  request: Request,
  options: {
    tag: string;
    isCompressed?: boolean;
    type?: string;
    read: () => Promise<string | Uint8Array<ArrayBuffer> | undefined>;
  },
): Promise<Response | undefined> {
  const { tag, isCompressed = false, type = playlistType, read } = options;
  const headers = new Headers({
    etag: `"${tag}"`,
    'cache-control': `public, max-age=${playlistAge}`,
    vary: 'Accept-Encoding',
  });
  const condition = preconditions(request.headers, { etag: tag });
  if (condition === 'failed')
    throw new Fault('file.changed', {
      status: 412,
      message: 'The playlist has changed.',
    });
  if (condition === 'unchanged') return new Response(null, { status: 304, headers });
  const body = await read();
  if (body === undefined) return undefined;
  headers.set('content-type', type);
  if (isCompressed) headers.set('content-encoding', 'gzip');
  return new Response(body, { headers });
}

/** What the bytes depend on: those of the film, what they are, and how this program writes a playlist of them. */
function tagOf({ video }: Film, what: string): string {
  return `${video.sha256.slice(0, 32)}-${what}-1`;
}

/** Nothing for a film without. */
function subtitlesTag(subtitles: readonly object[]): string {
  if (subtitles.length === 0) return '';
  return `-t${createHash('sha256').update(JSON.stringify(subtitles)).digest('hex').slice(0, 16)}`;
}

/** Nothing for a film without. */
function renditionsTag({ renditions = [] }: Film): string {
  if (renditions.length === 0) return '';
  const hashes = renditions.map(({ video }) => video.sha256).join();
  return `-${createHash('sha256').update(hashes).digest('hex').slice(0, 16)}`;
}

function isIndexed(film: Film): film is IndexedFilm {
  return film.index !== undefined;
}
