import type { FilmPlayback, FilmSegments, Inspection } from '../../../../core/ports/inspector.ts';
import { takeHead } from '../../vod/head.ts';
import { indexFilm } from '../../vod/index-film.ts';
import { type Film, readFilm } from './read-film.ts';
import { ForeignRefusal, Refusal } from './refusal.ts';
import { describe } from './spec.ts';
import type { ReadableFile } from './window.ts';

export interface Inspected {
  readonly inspection: Inspection;
  /** Of an accepted file, when it was asked for. */
  readonly playback?: FilmPlayback;
}

/**
 * Is it an mp4 with H.264 and AAC, and what is in it? Computes long for large films: only for a thread of its own.
 * `isPlayed`: what playback of it needs is made too. `isConverted`: so is what a converter needs of a film of another kind.
 */
export async function inspectFile(
  file: ReadableFile,
  {
    isPlayed = false,
    isConverted = false,
  }: { readonly isPlayed?: boolean; readonly isConverted?: boolean } = {},
): Promise<Inspected> {
  try {
    const film = await readFilm(file, { isConverted });
    const { passedOver } = film;
    const inspection = { ok: true, spec: describe(film), passedOver } as const;
    if (!isPlayed) return { inspection };
    const { uncut, ...hls } = segmentsOf(film);
    // The last that is made of it.
    const head = takeHead(film);
    return {
      inspection: { ...inspection, ...(uncut !== undefined && { uncut }) },
      playback: { ...hls, ...(head && { head }) },
    };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const foreign = error instanceof ForeignRefusal && { foreign: error.foreign };
    return { inspection: { ok: false, reason: error.message, ...foreign } };
  }
}

/** What cannot be cut is a film all the same: whoever has the file can play it. */
function segmentsOf(film: Film): { readonly hls?: FilmSegments; readonly uncut?: string } {
  try {
    return { hls: indexFilm(film) };
  } catch (error) {
    if (error instanceof Refusal) return { uncut: error.message };
    throw error;
  }
}
