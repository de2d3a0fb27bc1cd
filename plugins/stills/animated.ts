import { invalidQuery } from '../../core/http/query.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import type { StillFormat, StillMotion } from '../../core/ports/stills.ts';
import type { FilmFile, FilmMedia } from '../../core/vod/film-media.ts';
import { boxAsked, mostAnimatedSide, pictureQuery, secondsAsked } from './asked.ts';
import { fileOf, filmSource, segmentAt, sharesOf, stillFaults } from './films.ts';

/** Largest side if none is named, pixels. */
const usualSide = 320;
/** Seconds. */
const usualLength = 5;
const leastLength = 0.25;
const mostLength = 10;
/** Pictures a second. */
const usualRate = 15;
const mostRate = 30;
/** Segments of one animation: shorter ones end it earlier. */
const mostSegments = 64;

export const animationFormats: readonly StillFormat[] = ['gif', 'webp'];

/** `animated.gif` and `animated.webp`: some seconds of a film without sound, for previews. */
export function animation(format: StillFormat, kit: Pick<Kit, 'use' | 'caller'>): FilmFile {
  const type = `image/${format}`;
  return {
    name: `animated.${format}`,
    type,
    query: pictureQuery,
    faults: [...stillFaults, 'query.invalid', 'file.gone'],
    async answer(film, { request, media }) {
      const { sha256 } = film.video;
      const query = new URL(request.url).searchParams;
      const box = boxAsked(query, { usual: usualSide, most: mostAnimatedSide });
      const motion = motionAsked(query);
      const isUsual = ['start', 'end', 'fps', 'width', 'height'].every((name) => !query.has(name));
      const asked = [motion.from, motion.to, motion.fps, box.width, box.height].join('-');
      const still = await kit.use(services.stills).make({
        ...{ kind: 'asset', key: `film/${sha256}/animated/${format}/${asked}` },
        of: isUsual ? `film/${sha256}/animated` : `film/${sha256}`,
        isOneOfMany: !isUsual,
        ...sharesOf(film, { request, kit }),
        open: () => {
          const found = segmentsOf(media, motion);
          return found && { ...found, ...box, format, columns: 1 };
        },
      });
      return fileOf(request, { body: still.bytes, etag: still.etag, type });
    },
  };
}

/** Seconds of the film, in whole milliseconds. 422 `query.invalid`. */
function motionAsked(query: URLSearchParams): StillMotion {
  const ms = (seconds: number) => Math.round(seconds * 1000) / 1000;
  const from = ms(secondsAsked(query, 'start') ?? 0);
  const to = ms(secondsAsked(query, 'end') ?? from + usualLength);
  if (to - from < leastLength || to - from > mostLength)
    throw invalidQuery(`end: expected ${leastLength} to ${mostLength} seconds after start`);
  const text = query.get('fps') ?? String(usualRate);
  const fps = /^\d{1,2}(\.\d{1,6})?$/.test(text) ? Number(text) : 0;
  if (fps < 1 || fps > mostRate) throw invalidQuery(`fps: expected pictures a second, from 1 to ${mostRate}`);
  return { from, to, fps };
}

/** The segments that are shown then. Undefined: the film is over before. */
function segmentsOf(media: FilmMedia, { from, to, fps }: StillMotion) {
  const { starts, count } = media.index;
  if (count === 0 || from >= starts[count]) return undefined;
  const first = segmentAt(starts, from);
  const last = Math.min(segmentAt(starts, Math.min(to, starts[count])), first + mostSegments - 1);
  const pictures = Array.from({ length: last - first + 1 }, (_, row) => ({
    sources: [filmSource(media, { number: first + row })],
    begins: starts[first + row] - starts[first],
  }));
  return { pictures, motion: { from: from - starts[first], to: to - starts[first], fps } };
}
