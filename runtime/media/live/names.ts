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

/** The media playlist of a text track, counted from 1. */
export function textPlaylistName(track: number): string {
  return `t${track}.m3u8`;
}

/** The inverse; undefined for any other name. */
export function textTrackOf(file: string): number | undefined {
  const match = /^t([1-9])\.m3u8$/.exec(file);
  return match === null ? undefined : Number(match[1]);
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

/** What the name of a file of a text track asks for; `part` undefined: a whole segment. */
export interface TextRef {
  readonly track: number;
  readonly sequence: number;
  readonly part: number | undefined;
}

/** The inverse of `textNames`. */
export function parseTextName(file: string, prefix: string): TextRef | undefined {
  if (file.length > 64 || !file.startsWith(prefix)) return undefined;
  const match = TEXT_PATTERN.exec(file.slice(prefix.length));
  if (match === null) return undefined;
  const [, track, segment, inSegment, part] = match;
  const isPart = part !== undefined;
  return {
    track: Number(track),
    sequence: Number(segment ?? inSegment),
    part: isPart ? Number(part) : undefined,
  };
}

const TEXT_PATTERN = /^_t([1-9])_(?:seg(0|[1-9]\d{0,14})|part(0|[1-9]\d{0,14})\.(0|[1-9]\d{0,5}))\.vtt$/;

/** How a media playlist names its files. */
export interface FileNames {
  /** Absent: its segments need no init. */
  readonly init?: (id: number) => string;
  segment(sequence: number): string;
  part(sequence: number, part: number): string;
}

/** Of a playlist of pictures and sound. */
export function mediaNames(prefix: string): FileNames {
  return {
    init: (id) => initName(prefix, id),
    segment: (sequence) => segmentName(prefix, sequence),
    part: (sequence, part) => partName(prefix, sequence, part),
  };
}

/** Of a text track. */
export function textNames(prefix: string, track: number): FileNames {
  return {
    segment: (sequence) => `${prefix}_t${track}_seg${sequence}.vtt`,
    part: (sequence, part) => `${prefix}_t${track}_part${sequence}.${part}.vtt`,
  };
}

function initName(prefix: string, id: number): string {
  return `${prefix}_init${id}.mp4`;
}

function segmentName(prefix: string, sequence: number): string {
  return `${prefix}_seg${sequence}.mp4`;
}

function partName(prefix: string, sequence: number, part: number): string {
  return `${prefix}_part${sequence}.${part}.mp4`;
}
