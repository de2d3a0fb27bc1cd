import { Type } from '@sinclair/typebox';
import { invalidQuery } from '../../core/http/query.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import type { FilmFile } from '../../core/vod/film-media.ts';
import {
  fileOf,
  filmSource,
  segmentAt,
  sharesOf,
  stillFaults,
  thumbnailBox,
  thumbnailName,
} from './films.ts';

/** Seconds: the latest moment that a thumbnail shows if no `time` is named; otherwise a tenth of the film. */
const maxOpening = 10;
/** Segments before the asked one that are searched where a film has sound alone. */
const maxLookBack = 8;

/** `thumbnail.jpg?time=`: the picture that a player shows at that moment. */
export function filmThumbnail(kit: Pick<Kit, 'use' | 'caller'>): FilmFile {
  const stills = kit.use(services.stills);
  return {
    name: thumbnailName,
    type: 'image/jpeg',
    query: {
      time: Type.Number({
        minimum: 0,
        description:
          'Of `thumbnail.jpg`: the moment in seconds; beyond the end, the last picture. Default: a tenth of the film, at most 10 s.',
        examples: [12.5],
      }),
    },
    faults: [...stillFaults, 'query.invalid', 'file.gone'],
    async answer(film, { request, media }) {
      const { sha256 } = film.video;
      const { index } = media;
      const asked = timeAsked(new URL(request.url).searchParams);
      const times = index.starts;
      const ms = Math.floor(Math.min(asked ?? usual(times), times[index.count]) * 1000 + 1e-6);
      const still = await stills.make({
        ...{ kind: 'asset', key: `film/${sha256}/${ms}` },
        // Requests for thousands of moments must not crowd out the default picture.
        of: asked === undefined ? `film/${sha256}/poster` : `film/${sha256}`,
        isOneOfMany: asked !== undefined,
        ...sharesOf(film, { request, kit }),
        open: () => {
          if (index.count === 0) return undefined;
          const at = ms / 1000;
          const number = segmentAt(times, at);
          const sources = [filmSource(media, { number, at: at - times[number] })];
          for (let back = 1; back <= maxLookBack && back <= number; back += 1)
            sources.push(filmSource(media, { number: number - back, at: Number.MAX_SAFE_INTEGER }));
          return { pictures: [{ sources }], columns: 1, width: thumbnailBox, height: thumbnailBox };
        },
      });
      return fileOf(request, { body: still.bytes, etag: still.etag, type: 'image/jpeg' });
    },
  };
}

/** Seconds. 422 `query.invalid`. */
function timeAsked(query: URLSearchParams): number | undefined {
  const text = query.get('time');
  if (text === null) return undefined;
  if (!/^\d{1,15}(\.\d{1,20})?$/.test(text)) throw invalidQuery('time: expected seconds, such as 12.5');
  return Number(text);
}

function usual(times: Float64Array): number {
  return Math.min(maxOpening, times[times.length - 1] / 10);
}
