import { Fault } from '../base/fault.ts';
import { type FilePiece, readPieces } from '../http/file-answer.ts';
import type { Parameters } from '../http/operation.ts';
import type { PlayQuestion } from '../plugin/decide.ts';
import type { Blobs } from '../ports/blobs.ts';
import type { NumberedFile } from './file-name.ts';
import type { IndexedFilm } from './films.ts';
import { readSegmentBlock, type SegmentIndex } from './segment-index.ts';

/** A file beside the playlists of every film, made of its media. Other plugins add them. */
export interface FilmFile {
  /** Its name below the address of the film. */
  readonly name: string;
  /** Its media type. */
  readonly type: string;
  readonly query?: Parameters;
  /** What plugins that decide are told that it is. Default: `image`. */
  readonly what?: PlayQuestion['what'];
  /** Codes that `answer` throws, beside those of films. */
  readonly faults: readonly string[];
  /** Throws Faults. */
  answer(
    film: IndexedFilm,
    asked: { readonly request: Request; readonly media: FilmMedia },
  ): Promise<Response>;
}

/** What a film consists of. */
export interface FilmMedia {
  readonly index: SegmentIndex;
  /** It lies there in segments, as it was broadcast; otherwise they are cut from it on demand. */
  readonly isPackaged: boolean;
  /** A segment (`moof` and `mdat` boxes) or init. Fault `file.gone` (404): the film was deleted. */
  open(what: Pick<NumberedFile, 'type' | 'number'>, signal: AbortSignal): Promise<FilmBytes>;
}

export interface FilmBytes {
  readonly size: number;
  /** In memory: the caller bounds the range. */
  read(range: { readonly from: number; readonly to: number }, signal: AbortSignal): Promise<Uint8Array>;
}

export function filmMedia(
  film: IndexedFilm,
  { index, blobs }: { index: SegmentIndex; blobs: Pick<Blobs, 'get'> },
): FilmMedia {
  return {
    index,
    isPackaged: film.heads === undefined,
    async open({ type, number }, signal) {
      const place = type === 'init' ? index.inits[number] : index.segment(number);
      const pieces = place && (await piecesOf(film, { ...place, type }, { blobs, signal }));
      if (!pieces) throw gone();
      return {
        size: pieces.reduce((sum, { from, to }) => sum + to - from, 0),
        async read(range, ended) {
          const bytes = await readPieces(pieces, { ...range, blobs, signal: ended });
          return bytes ?? Promise.reject(gone());
        },
      };
    },
  };
}

/** Where the bytes of a segment or init lie, which the index has at this place. Undefined: a blob of it is not there. */
export async function piecesOf(
  { video, heads }: IndexedFilm,
  { type, at, size }: { readonly type: NumberedFile['type']; readonly at: number; readonly size: number },
  { blobs, signal }: { blobs: Pick<Blobs, 'get'>; signal: AbortSignal },
): Promise<FilePiece[] | undefined> {
  const to = at + size;
  if (heads === undefined) return [{ key: video.key, from: at, to }];
  if (type === 'init') return [{ key: heads.key, from: at, to }];
  const found = await blobs.get(heads.key, { range: { from: at, to }, signal });
  if (found.outcome !== 'ok') return undefined;
  const block = readSegmentBlock(
    await new Response(found.body as ReadableStream<Uint8Array<ArrayBuffer>>).bytes(),
  );
  return [
    { key: heads.key, from: at + block.headAt, to },
    ...block.ranges.map(([from, end]) => ({ key: video.key, from, to: end })),
  ];
}

function gone(): Fault {
  return new Fault('file.gone', { status: 404, message: 'The film was deleted.' });
}
