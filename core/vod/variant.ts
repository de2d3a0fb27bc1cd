import type { SegmentIndex } from './segment-index.ts';

/** What a multivariant playlist says of one of its playlists (RFC 8216bis 4.4.6.2). Plain JSON: it is kept with the file. */
export interface Variant {
  /** bit/s over the whole and of the densest segment. */
  readonly bandwidth: SegmentIndex['bandwidth'];
  /** RFC 6381. */
  readonly codecs: readonly string[];
  readonly width?: number;
  readonly height?: number;
  readonly frameRate?: number;
}

/** Where reconnects changed the picture, `codecs` are all that come, and size and frame rate are the greatest. */
export function variantOf({ inits, bandwidth }: Pick<SegmentIndex, 'inits' | 'bandwidth'>): Variant {
  let size: Pick<Variant, 'width' | 'height'> = {};
  let most = 0;
  let frameRate = 0;
  for (const init of inits) {
    const { width = 0, height = 0 } = init;
    if (width * height > most) {
      most = width * height;
      size = { width, height };
    }
    frameRate = Math.max(frameRate, init.frameRate ?? 0);
  }
  const codecs = [...new Set(inits.flatMap((init) => init.codecs))];
  return { bandwidth, codecs, ...size, ...(frameRate > 0 && { frameRate }) };
}
