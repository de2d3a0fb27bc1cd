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

/** What a file name asks for. `rendition`: counted from 1, 0 is the source; `number`: of the init or segment. */
export interface FileRef {
  readonly type: 'init' | 'segment' | 'part';
  readonly rendition: number;
  readonly number: number;
  readonly part: number;
}

/** The inverse of the names below; undefined for any other name. `prefix`: of the source. */
export function parseName(file: string, prefix: string): FileRef | undefined {
  if (file.length > 64 || !file.startsWith(prefix)) return undefined;
  const match = PATTERN.exec(file.slice(prefix.length));
  if (match === null) return undefined;
  const [, of = 0, init, segment, inSegment, part] = match;
  const type = init !== undefined ? 'init' : segment !== undefined ? 'segment' : 'part';
  const number = Number(init ?? segment ?? inSegment);
  return { type, rendition: Number(of), number, part: Number(part) };
}

const PATTERN =
  /^(?:_r([1-9]\d?))?_(?:init(0|[1-9]\d{0,14})|seg(0|[1-9]\d{0,14})|part(0|[1-9]\d{0,14})\.(0|[1-9]\d{0,5}))\.mp4$/;

export function initName(prefix: string, id: number): string {
  return `${prefix}_init${id}.mp4`;
}

export function segmentName(prefix: string, sequence: number): string {
  return `${prefix}_seg${sequence}.mp4`;
}

export function partName(prefix: string, sequence: number, part: number): string {
  return `${prefix}_part${sequence}.${part}.mp4`;
}
