import type { SegmentIndex } from '../segment-index.ts';
import { mediaName } from './file-name.ts';

/**
 * RFC 8216bis 4.4.6, with one variant. Where reconnects changed the picture, `CODECS` names all that come, and size and frame
 * rate are the greatest.
 */
export function multivariantPlaylist({
  inits,
  bandwidth,
}: Pick<SegmentIndex, 'inits' | 'bandwidth'>): string {
  const bits = (value: number) => Math.max(1, Math.ceil(value));
  const attributes = [
    `BANDWIDTH=${bits(Math.max(bandwidth.peak, bandwidth.average))}`,
    `AVERAGE-BANDWIDTH=${bits(bandwidth.average)}`,
  ];
  const codecs = new Set(inits.flatMap((init) => init.codecs));
  if (codecs.size > 0) attributes.push(`CODECS="${[...codecs].join(',')}"`);
  let most = 0;
  let resolution: string | undefined;
  let frameRate = 0;
  for (const init of inits) {
    const { width = 0, height = 0 } = init;
    if (width * height > most) {
      most = width * height;
      resolution = `RESOLUTION=${width}x${height}`;
    }
    frameRate = Math.max(frameRate, init.frameRate ?? 0);
  }
  if (resolution) attributes.push(resolution);
  if (frameRate > 0) attributes.push(`FRAME-RATE=${frameRate.toFixed(3)}`);
  return `#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-STREAM-INF:${attributes.join(',')}\n${mediaName}\n`;
}
