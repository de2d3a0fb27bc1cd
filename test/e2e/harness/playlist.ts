/** What the tests read of a live stream's playlists. */
export interface MediaPlaylist {
  url: string;
  text: string;
  mediaSequence: number;
  discontinuitySequence: number;
  discontinuities: number;
  segments: string[];
}

/** Status of the multivariant playlist; 200 while the stream can be watched. */
export async function statusOf(url: string): Promise<number> {
  const response = await fetch(url, { signal: AbortSignal.timeout(15_000) });
  await response.arrayBuffer();
  return response.status;
}

/** The media playlist behind a multivariant one (its first variant). */
export async function readMediaPlaylist(url: string): Promise<MediaPlaylist> {
  const variant = linesOf(await readText(url)).find((line) => !line.startsWith('#'));
  if (!variant) throw new Error(`${url} lists no variant`);
  const mediaUrl = new URL(variant, url).href;
  const text = await readText(mediaUrl);
  const numberOf = (tag: string) => Number(new RegExp(`^#${tag}:(\\d+)`, 'm').exec(text)?.[1] ?? 0);
  return {
    url: mediaUrl,
    text,
    mediaSequence: numberOf('EXT-X-MEDIA-SEQUENCE'),
    discontinuitySequence: numberOf('EXT-X-DISCONTINUITY-SEQUENCE'),
    discontinuities: linesOf(text).filter((line) => line === '#EXT-X-DISCONTINUITY').length,
    segments: linesOf(text).filter((line) => !line.startsWith('#')),
  };
}

async function readText(url: string): Promise<string> {
  const response = await fetch(url, { signal: AbortSignal.timeout(15_000) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status} ${text}`);
  return text;
}

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
