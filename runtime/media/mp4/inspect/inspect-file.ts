import type { Inspection } from '../../../../core/ports/inspector.ts';
import { indexFilm } from '../on-demand/index-film.ts';
import { readFilm } from './read-film.ts';
import { Refusal } from './refusal.ts';
import { describe } from './spec.ts';
import type { ReadableFile } from './window.ts';

/**
 * Is it an mp4 with H.264 and AAC, and what is in it? Computes long for large films: only for a thread of its own.
 * `isPlayed`: what HLS of it needs is made too.
 */
export async function inspectFile(
  file: ReadableFile,
  { isPlayed = false }: { readonly isPlayed?: boolean } = {},
): Promise<Inspection> {
  try {
    const film = await readFilm(file);
    const { passedOver } = film;
    return { ok: true, spec: describe(film), passedOver, ...(isPlayed && { playback: indexFilm(film) }) };
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, reason: error.message };
    throw error;
  }
}
