import type { Kit } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import type { Still, StillStore } from '../../core/ports/stills.ts';
import type { FilmFile, FilmMedia } from '../../core/vod/film-media.ts';
import type { IndexedFilm } from '../../core/vod/films.ts';
import { picturesFolder } from '../assets/contract.ts';
import { cuesName, fileOf, filmSource, segmentAt, sharesOf, stillFaults, storyboardName } from './films.ts';

/** Largest side of a picture on the sheet, pixels. */
const tileBox = 256;
/** Pictures of a storyboard, and of that of a film of `longFilm` seconds or more. Never more than the film has segments. */
const maxTiles = 50;
const maxTilesLong = 100;
const longFilm = 900;
const maxColumns = 10;
/** Bytes of a stored sheet that is read back; a larger one is made again. */
const maxStoredBytes = 8 * 1_048_576;
const faults = [...stillFaults, 'file.gone'];

/** `storyboard.jpg`: pictures of the whole film on one sheet, each the key frame that a segment begins with. */
export function storyboard(kit: StoryboardKit): FilmFile {
  return {
    name: storyboardName,
    type: 'image/jpeg',
    faults,
    async answer(film, { request, media }) {
      const plan = planOf(media.index.starts);
      const { bytes, etag } = await sheetOf(film, { plan, media, kit, request });
      return fileOf(request, { body: bytes, etag, type: 'image/jpeg' });
    },
  };
}

/** `storyboard.vtt`: when each of them is shown, and where on the sheet it is (WebVTT with media fragments `xywh`). */
export function storyboardCues(kit: StoryboardKit): FilmFile {
  return {
    name: cuesName,
    type: 'text/vtt',
    faults,
    async answer(film, { request, media }) {
      const plan = planOf(media.index.starts);
      const { width, height, etag } = await sheetOf(film, { plan, media, kit, request });
      // Its size is that of the sheet, which shape the film ever has.
      const rows = Math.ceil(plan.cues.length / plan.columns);
      const size = { width: Math.floor(width / plan.columns), height: Math.floor(height / rows) };
      // Relative to this file: caches keep one answer for all addresses that it is asked at.
      const body = webVtt(plan.cues, { sheet: storyboardName, columns: plan.columns, ...size });
      return fileOf(request, { body, etag: `${etag}-vtt`, type: 'text/vtt; charset=utf-8' });
    },
  };
}

type StoryboardKit = Pick<Kit, 'blobs' | 'use' | 'caller'>;

interface Plan {
  readonly cues: readonly (Cue & { readonly segment: number })[];
  readonly columns: number;
}

/** About evenly over the film, each where a segment begins: a short film has as many as it has segments. */
function planOf(times: Float64Array): Plan {
  const end = times[times.length - 1];
  const count = end < longFilm ? maxTiles : maxTilesLong;
  const segments = new Set<number>();
  if (times.length > 1)
    for (let row = 0; row < count; row += 1) segments.add(segmentAt(times, (row * end) / count));
  const numbers = [...segments];
  const cues = numbers.map((segment, row) => ({
    segment,
    from: times[segment],
    to: row + 1 < numbers.length ? times[numbers[row + 1]] : end,
  }));
  return { cues, columns: Math.max(1, Math.min(maxColumns, cues.length)) };
}

/** From memory, from where it was stored when it was made, or made now. */
function sheetOf(
  film: IndexedFilm,
  { plan, media, kit, request }: { plan: Plan; media: FilmMedia; kit: StoryboardKit; request: Request },
): Promise<Still> {
  const { sha256 } = film.video;
  const store = storeOf(film, kit);
  return kit.use(services.stills).make({
    // There is one: who asks for many moments of the film does not take its place.
    ...{ kind: 'storyboard', key: `film/${sha256}/storyboard`, of: `film/${sha256}/storyboard` },
    ...sharesOf(film, { request, kit }),
    ...(store && { store }),
    open: () => ({
      pictures: plan.cues.map(({ segment }) => ({ sources: [filmSource(media, { number: segment })] })),
      ...{ columns: plan.columns, width: tileBox, height: tileBox },
    }),
  });
}

/** Beside the film, with which it goes. Named by its bytes and by how this program makes it. */
function storeOf({ video }: IndexedFilm, { blobs }: StoryboardKit): StillStore | undefined {
  const folder = picturesFolder(video.key);
  if (folder === undefined) return undefined;
  const key = `${folder}storyboard-1-${video.sha256.slice(0, 32)}.jpg`;
  return {
    async load(signal) {
      const found = await blobs.get(key, { signal });
      if (found.outcome !== 'ok') return undefined;
      if (found.blob.size <= maxStoredBytes)
        return new Response(found.body as ReadableStream<Uint8Array<ArrayBuffer>>).bytes();
      await found.body.cancel();
      return undefined;
    },
    async save(bytes) {
      await blobs.put(key, bytes);
    },
  };
}

/** A stretch of a film, seconds. */
interface Cue {
  readonly from: number;
  readonly to: number;
}

/**
 * A file of cues whose text is a place on a sheet of pictures, as players take it for their seek bar: WebVTT (W3C), with spatial
 * media fragments (`#xywh=`, Media Fragments URI 1.0 §4.2.2).
 */
function webVtt(
  cues: readonly Cue[],
  options: { sheet: string; columns: number; width: number; height: number },
): string {
  const { sheet, columns, width, height } = options;
  const written = cues.map(({ from, to }, row) => {
    const x = (row % columns) * width;
    const y = Math.floor(row / columns) * height;
    return `\n${timestamp(from)} --> ${timestamp(to)}\n${sheet}#xywh=${x},${y},${width},${height}\n`;
  });
  return `WEBVTT\n${written.join('')}`;
}

/** `hh:mm:ss.ttt`. */
function timestamp(seconds: number): string {
  const ms = Math.round(seconds * 1000);
  const part = (size: number, of: number, digits: number) =>
    String(Math.floor(ms / size) % of).padStart(digits, '0');
  const hours = String(Math.floor(ms / HOUR)).padStart(2, '0');
  return `${hours}:${part(MINUTE, 60, 2)}:${part(SECOND, 60, 2)}.${part(1, SECOND, 3)}`;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
