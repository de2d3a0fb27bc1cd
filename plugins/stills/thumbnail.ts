import type { Kit } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import type { FilmFile } from '../../core/vod/film-media.ts';
import { boxAsked, mostSide, pictureQuery, secondsAsked } from './asked.ts';
import {
  fileOf,
  filmSource,
  segmentAt,
  sharesOf,
  stillFaults,
  type ThumbnailFormat,
  thumbnailBox,
  thumbnailOf,
} from './films.ts';

/** Seconds: the latest moment that a thumbnail shows if no `time` is named; otherwise a tenth of the film. */
const maxOpening = 10;
/** Segments before the asked one that are searched where a film has sound alone. */
const maxLookBack = 8;

/** `thumbnail.jpg?time=`, and the same as PNG and WebP: the picture that a player shows at that moment. */
export function filmThumbnail(format: ThumbnailFormat, kit: Pick<Kit, 'use' | 'caller'>): FilmFile {
  const stills = kit.use(services.stills);
  const type = `image/${format}`;
  return {
    name: thumbnailOf(format),
    type,
    query: pictureQuery,
    faults: [...stillFaults, 'query.invalid', 'file.gone'],
    async answer(film, { request, media }) {
      const { sha256 } = film.video;
      const { index } = media;
      const query = new URL(request.url).searchParams;
      const asked = secondsAsked(query, 'time');
      const box = boxAsked(query, { usual: thumbnailBox, most: mostSide });
      const isOneOfMany = asked !== undefined || query.has('width') || query.has('height');
      const times = index.starts;
      const ms = Math.floor(Math.min(asked ?? usual(times), times[index.count]) * 1000 + 1e-6);
      const isPlain = format === 'jpeg' && box.width === thumbnailBox && box.height === thumbnailBox;
      const form = isPlain ? '' : `/${format}-${box.width}-${box.height}`;
      const still = await stills.make({
        ...{ kind: 'asset', key: `film/${sha256}/${ms}${form}` },
        // Requests for thousands of moments must not crowd out the default picture.
        ...{ of: isOneOfMany ? `film/${sha256}` : `film/${sha256}/poster`, isOneOfMany },
        // Those of one process are alike.
        ...(isPlain &&
          index.count > 0 && { segment: `film/${sha256}/segment/${segmentAt(times, ms / 1000)}` }),
        ...sharesOf(film, { request, kit }),
        open: () => {
          if (index.count === 0) return undefined;
          const at = ms / 1000;
          const number = segmentAt(times, at);
          const sources = [filmSource(media, { number, at: at - times[number] })];
          for (let back = 1; back <= maxLookBack && back <= number; back += 1)
            sources.push(filmSource(media, { number: number - back, at: Number.MAX_SAFE_INTEGER }));
          return { pictures: [{ sources }], columns: 1, ...box, format };
        },
      });
      return fileOf(request, { body: still.bytes, etag: still.etag, type });
    },
  };
}

function usual(times: Float64Array): number {
  return Math.min(maxOpening, times[times.length - 1] / 10);
}
