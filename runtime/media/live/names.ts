export const MULTIVARIANT_PLAYLIST = 'index.m3u8';
/** What the encoder sends. */
export const MEDIA_PLAYLIST = 'source.m3u8';

/** The media playlist of a rendition, counted from 1; 0: of the source. */
export function mediaPlaylistName(rendition: number): string {
  return rendition === 0 ? MEDIA_PLAYLIST : `r${rendition}.m3u8`;
}

/** The inverse; undefined for any other name. */
export function renditionOf(file: string): number | undefined {
  if (file === MEDIA_PLAYLIST) return 0;
  const match = /^r([1-9]\d?)\.m3u8$/.exec(file);
  return match === null ? undefined : Number(match[1]);
}

/** What the names of files of a rendition begin with; `prefix`: those of its source. */
export function renditionPrefix(prefix: string, rendition: number): string {
  return rendition === 0 ? prefix : `${prefix}_r${rendition}`;
}

/** What a file name asks for. `rendition`: counted from 1, 0 is the source. */
export type FileRef =
  | { readonly type: 'init'; readonly rendition: number; readonly id: number }
  | { readonly type: 'segment'; readonly rendition: number; readonly sequence: number }
  | { readonly type: 'part'; readonly rendition: number; readonly sequence: number; readonly part: number };

/** The inverse of the names below; undefined for any other name. `prefix`: of the source. */
export function parseName(file: string, prefix: string): FileRef | undefined {
  if (file.length > 64 || !file.startsWith(prefix) || !file.endsWith('.mp4')) return undefined;
  const match = PATTERN.exec(file.slice(prefix.length));
  if (match === null) return undefined;
  const [, of, type, digits, partDigits] = match;
  if ((type === 'part') !== (partDigits !== undefined)) return undefined;
  const number = Number(digits);
  const rendition = Number(of ?? 0);
  if (type === 'init') return { type, rendition, id: number };
  if (type === 'seg') return { type: 'segment', rendition, sequence: number };
  return { type: 'part', rendition, sequence: number, part: Number(partDigits) };
}

const PATTERN = /^(?:_r([1-9]\d?))?_(init|seg|part)(0|[1-9]\d{0,14})(?:\.(0|[1-9]\d{0,5}))?\.mp4$/;

export function initName(prefix: string, id: number): string {
  return `${prefix}_init${id}.mp4`;
}

export function segmentName(prefix: string, sequence: number): string {
  return `${prefix}_seg${sequence}.mp4`;
}

export function partName(prefix: string, sequence: number, part: number): string {
  return `${prefix}_part${sequence}.${part}.mp4`;
}
