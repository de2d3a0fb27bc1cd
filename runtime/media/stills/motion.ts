import type { StillMedia } from '../../../core/ports/stills.ts';
import { type Drawn, type DrawOptions, draw, fragmentOf, scaled } from './drawing.ts';
import { motionEncodings } from './encodings.ts';
import { findPictures, NoPicture, rounding } from './found-pictures.ts';

/** Bytes of the segments of one animation. */
const maxMotionBytes = 96 * 1_048_576;

/**
 * Makes an animation of segments that follow each other. It ends where the format of the film changes, because another format is
 * another decoder. Throws NoPicture, and what reading throws.
 */
export function drawMotion(media: StillMedia, options: DrawOptions): Promise<Drawn> {
  const { motion, format = 'webp' } = media;
  const encoding = motionEncodings[format];
  if (!motion || !encoding) throw new RangeError(`there is no animation of ${format}`);
  const { from, to, fps } = motion;
  const filter = [
    // Times are whole ticks: a picture may begin a part of one later than it is asked for.
    `setpts=PTS-STARTPTS-${(from + rounding).toFixed(6)}/TB`,
    // Each shows what is on show at its time, the first too.
    `fps=${fps}:round=up:start_time=0`,
    `trim=end=${(to - from).toFixed(6)}`,
    scaled(media, encoding),
  ];
  const pictures = Math.ceil((to - from) * fps) + 1;
  return draw(
    {
      format: 'mp4',
      input: { copyts: true },
      filter: filter.join(','),
      media: read(media, options),
      pictures,
      encoding,
    },
    options,
  );
}

async function* read({ pictures, motion }: StillMedia, options: DrawOptions): AsyncIterable<Uint8Array> {
  let size = 0;
  let first: string | undefined;
  for (const [index, { sources, begins = 0 }] of pictures.entries()) {
    const [source] = sources;
    // All of the segment up to the end of the animation.
    const at = Math.max(0, (motion?.to ?? 0) - begins);
    const found = await findPictures({ ...source, at }, options).catch((error: unknown) => {
      // Without a beginning there is nothing; a segment without pictures is sound alone.
      if (error instanceof NoPicture && index > 0) return undefined;
      throw error;
    });
    if (!found) continue;
    size += found.bytes.length;
    if (size > maxMotionBytes)
      throw new NoPicture(`More than ${maxMotionBytes} bytes must be read for this animation.`);
    if (first === undefined) yield found.init.bytes;
    first ??= found.init.id;
    if (found.init.id !== first) return;
    const { timescale } = found.init.track;
    yield fragmentOf(found, { sequence: index + 1, first: Math.round(begins * timescale) });
  }
}
