import { Fault } from '../../core/base/fault.ts';
import { networkOf } from '../../core/base/network.ts';
import { preconditions } from '../../core/http/preconditions.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import type { StillOrder, StillSource } from '../../core/ports/stills.ts';
import type { FilmMedia } from '../../core/vod/film-media.ts';
import type { IndexedFilm } from '../../core/vod/films.ts';

/** Files below the address of a broadcast or a film. */
export const thumbnailFormats = ['jpeg', 'png', 'webp'] as const;
export type ThumbnailFormat = (typeof thumbnailFormats)[number];
export const thumbnailName = thumbnailOf('jpeg');
export const storyboardName = 'storyboard.jpg';
export const cuesName = 'storyboard.vtt';

/** Largest side of a thumbnail, pixels. Its shape is kept, and it is never enlarged. */
export const thumbnailBox = 640;

export function thumbnailOf(format: ThumbnailFormat): string {
  return `thumbnail.${format === 'jpeg' ? 'jpg' : format}`;
}

/** Codes that a picture is refused with. */
export const stillFaults = ['still.none', 'still.unavailable', 'still.busy', 'still.failed'] as const;

/** Seconds for which caches may keep pictures of an asset: so long those of a deleted one may still be found there. */
const maxAge = 3600;

/** Whose share of the turns the picture of a film is taken from: that of the network that asks, and that of the account. */
export function sharesOf(
  film: IndexedFilm,
  { request, kit }: { request: Request; kit: Pick<Kit, 'caller'> },
): Pick<StillOrder, 'client' | 'account' | 'signal'> {
  const { address } = kit.caller(request);
  const account = film.identity?.account;
  return {
    signal: request.signal,
    ...(address !== undefined && { client: networkOf(address) }),
    ...(account !== undefined && { account }),
  };
}

/** A segment of a film, to make a picture of. */
export function filmSource(
  media: FilmMedia,
  options: { readonly number: number; readonly at?: number },
): StillSource {
  const { number, at } = options;
  const { init } = media.index.segment(number);
  return {
    init: {
      id: `${init}`,
      async read(signal) {
        const { size, read } = await media.open({ type: 'init', number: init }, signal);
        return read({ from: 0, to: size }, signal);
      },
    },
    open: (signal) => media.open({ type: 'segment', number }, signal),
    ...(at !== undefined && { at }),
    ...(number === 0 && { lead: media.isPackaged ? 'decoded' : 'shown' }),
  };
}

/** Number of the segment shown at this time; the last one beyond the end. `times`: `SegmentIndex.starts`. */
export function segmentAt(times: Float64Array, seconds: number): number {
  let low = 0;
  let high = times.length - 2;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (times[middle] <= seconds) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Answers with a small file that never changes under its tag (RFC 9110 §13). Throws `file.changed` (412). */
export function fileOf(
  request: Request,
  { body, etag, type }: { body: Uint8Array<ArrayBuffer> | string; etag: string; type: string },
): Response {
  const headers = {
    etag: `"${etag}"`,
    'cache-control': `public, max-age=${maxAge}`,
    'x-content-type-options': 'nosniff',
  };
  const condition = preconditions(request.headers, { etag });
  if (condition === 'failed')
    throw new Fault('file.changed', {
      status: 412,
      message: 'The picture has changed.',
    });
  if (condition === 'unchanged') return new Response(null, { status: 304, headers });
  return new Response(body, { headers: { ...headers, 'content-type': type } });
}
