import type { StillSource } from '../../core/ports/stills.ts';
import type { FilmMedia } from '../../core/vod/film-media.ts';

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
