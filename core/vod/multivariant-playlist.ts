import { mediaName } from './file-name.ts';
import type { Variant } from './variant.ts';

/** RFC 8216bis 4.4.6: the source first, then its renditions, each with a playlist of its own. */
export function multivariantPlaylist(source: Variant, renditions: readonly Variant[] = []): string {
  const all = [source, ...renditions].map(
    (variant, number) => `#EXT-X-STREAM-INF:${attributesOf(variant)}\n${mediaName(number)}\n`,
  );
  return `#EXTM3U\n#EXT-X-VERSION:7\n${all.join('')}`;
}

function attributesOf({ bandwidth, codecs, width, height, frameRate }: Variant): string {
  const bits = (value: number) => Math.max(1, Math.ceil(value));
  const attributes = [
    `BANDWIDTH=${bits(Math.max(bandwidth.peak, bandwidth.average))}`,
    `AVERAGE-BANDWIDTH=${bits(bandwidth.average)}`,
  ];
  if (codecs.length > 0) attributes.push(`CODECS="${codecs.join(',')}"`);
  if (width && height) attributes.push(`RESOLUTION=${width}x${height}`);
  if (frameRate) attributes.push(`FRAME-RATE=${frameRate.toFixed(3)}`);
  return attributes.join(',');
}
