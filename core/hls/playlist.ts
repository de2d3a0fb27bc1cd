/** The lines of HLS playlists (RFC 8216bis), the same for live and stored media. */

/** Media type of a playlist (RFC 8216 §4). */
export const playlistType = 'application/vnd.apple.mpegurl';

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

/** A text track of a multivariant playlist (4.4.6.1). */
export interface Subtitles {
  /** Without quotes and line breaks; no two of a playlist have the same. */
  readonly name: string;
  /** BCP 47. */
  readonly language: string;
  readonly isDefault: boolean;
  readonly uri: string;
}

/** 4.4.6. The best variant first: players begin with it. */
export function multivariantPlaylist(
  variants: readonly { readonly variant: Variant; readonly uri: string }[],
  { version, subtitles = [] }: { version: number; subtitles?: readonly Subtitles[] },
): string {
  const group = subtitles.length > 0 ? `,SUBTITLES="${subtitlesGroup}"` : '';
  const lines = variants.map(
    ({ variant, uri }) => `#EXT-X-STREAM-INF:${attributesOf(variant)}${group}\n${uri}\n`,
  );
  return `#EXTM3U\n#EXT-X-VERSION:${version}\n${subtitlesLines(subtitles)}${lines.join('')}`;
}

const subtitlesGroup = 'text';

/** At most one is the default, and players choose by themselves among the first of each language. */
function subtitlesLines(subtitles: readonly Subtitles[]): string {
  const main = subtitles.find(({ isDefault }) => isDefault);
  const yes = (isTrue: boolean) => (isTrue ? 'YES' : 'NO');
  const lines = subtitles.map((one, index) => {
    const { name, language, uri } = one;
    const first = subtitles.findIndex((other) => other.language === language);
    // What is the default is chosen by players too (4.4.6.1).
    const isChosen = one === main || (first === index && main?.language !== language);
    const attributes = [
      `TYPE=SUBTITLES,GROUP-ID="${subtitlesGroup}",NAME="${name}",LANGUAGE="${language}"`,
      `DEFAULT=${yes(one === main)},AUTOSELECT=${yes(isChosen)},FORCED=NO,URI="${uri}"`,
    ];
    return `#EXT-X-MEDIA:${attributes.join(',')}\n`;
  });
  return lines.join('');
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
