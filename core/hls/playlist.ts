/** The lines of HLS playlists (RFC 8216bis), the same for live and stored media. */

/** What a multivariant playlist says about one of its playlists (4.4.6.2). Plain JSON: it is stored with a recording. */
export interface Variant {
  /** bit/s over the whole, and of the densest segment. */
  readonly bandwidth: { readonly average: number; readonly peak: number };
  /** RFC 6381. */
  readonly codecs: readonly string[];
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  readonly frameRate?: number | undefined;
}

/** 4.4.6. The best variant first: players begin with it. */
export function multivariantPlaylist(
  variants: readonly { readonly variant: Variant; readonly uri: string }[],
  { version }: { version: number },
): string {
  const lines = variants.map(({ variant, uri }) => `#EXT-X-STREAM-INF:${attributesOf(variant)}\n${uri}\n`);
  return `#EXTM3U\n#EXT-X-VERSION:${version}\n${lines.join('')}`;
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

/** What stands in front of all segments and tags of one media playlist. `target`: whole seconds. */
export function mediaHead({ version, target }: { version: number; target: number }): string {
  return `#EXTM3U\n#EXT-X-VERSION:${version}\n#EXT-X-TARGETDURATION:${target}\n`;
}

export const discontinuityLine = '#EXT-X-DISCONTINUITY\n';

/** The init segment of the media segments that follow. */
export function mapLine(uri: string): string {
  return `#EXT-X-MAP:URI="${uri}"\n`;
}

/** When the next segment begins, epoch ms. */
export function dateLine(time: number): string {
  return `#EXT-X-PROGRAM-DATE-TIME:${new Date(time).toISOString()}\n`;
}

/** `duration`: seconds. */
export function segmentLines({ duration, uri }: { duration: number; uri: string }): string {
  return `#EXTINF:${duration.toFixed(5)},\n${uri}\n`;
}
