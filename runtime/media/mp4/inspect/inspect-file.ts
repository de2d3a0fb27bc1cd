import type { Inspection } from '../../../../core/ports/inspector.ts';
import { readFilm } from './read-film.ts';
import { Refusal } from './refusal.ts';
import { describe } from './spec.ts';
import type { ReadableFile } from './window.ts';

/** Is it an mp4 with H.264 and AAC, and what is in it? Computes long for large films: only for a thread of its own. */
export async function inspectFile(file: ReadableFile): Promise<Inspection> {
  try {
    const film = await readFilm(file);
    return { ok: true, spec: describe(film), passedOver: film.passedOver };
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, reason: error.message };
    throw error;
  }
}
