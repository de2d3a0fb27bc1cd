import type { StillMedia } from '../../../core/ports/stills.ts';
import { type DrawOptions, draw, fragmentOf, scaled } from './drawing.ts';
import { findPictures } from './found-pictures.ts';
import { splitJpegs } from './jpeg-size.ts';

/** Pictures that one process makes of a segment. */
export const maxMoments = 16;

/**
 * Makes a picture for each of these moments of one segment by one process, which decodes it once. Undefined: it did not work,
 * and each has to be made by itself. Throws NoPicture, and what reading throws.
 */
export async function drawMoments(
  moments: readonly StillMedia[],
  options: DrawOptions,
): Promise<readonly Uint8Array<ArrayBuffer>[] | undefined> {
  const sources = moments.map(({ pictures }) => pictures[0]?.sources[0]);
  const times = sources.map((source) => source?.at ?? 0);
  const source = sources[times.indexOf(Math.max(...times))];
  if (!source) return undefined;
  const found = await findPictures(source, { signal: options.signal, earlier: times });
  const { timescale } = found.init.track;
  const shown = [...new Set(found.others)].sort((a, b) => a - b);
  const seconds = (ticks: number) => Math.max(0, ticks / timescale).toFixed(9);
  // Half a tick before and behind: the times are whole ones.
  const each = shown.map((at) => `between(t,${seconds(at - 0.5)},${seconds(at + 0.5)})`);
  const drawn = await draw(
    {
      format: 'mp4',
      input: { copyts: true },
      filter: `select='${each.join('+')}',${scaled(moments[0])}`,
      media: [found.init.bytes, fragmentOf(found, { sequence: 1, first: 0 })],
      pictures: shown.length,
      isEachOnce: true,
    },
    options,
  );
  const pictures = drawn.ok ? splitJpegs(drawn.bytes) : [];
  if (pictures.length !== shown.length) return undefined;
  return found.others.map((at) => pictures[shown.indexOf(at)]);
}
