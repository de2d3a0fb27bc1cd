/**
 * The files of a film below its address. Segments and inits are numbered as in its index, from 0. Those of its source have no
 * prefix, those of its renditions `r1`, `r2`, … in the order in which the film names them.
 */
export const multivariantName = 'index.m3u8';
/** All of it as one mp4. */
export const wholeName = 'source.mp4';

/** The media playlist. @param variant 0: the source; n: its rendition n, counted from 1 */
export function mediaName(variant: number): string {
  return `${variant === 0 ? 'source' : prefixOf(variant)}.m3u8`;
}

/** The media playlist of a text track. */
export function textPlaylistName(id: string): string {
  return `text_${id}.m3u8`;
}

export function textFileName(id: string): string {
  return `text_${id}.vtt`;
}

export function segmentName(number: number, variant = 0): string {
  return `${prefixOf(variant)}seg${number}.mp4`;
}

export function initName(number: number, variant = 0): string {
  return `${prefixOf(variant)}init${number}.mp4`;
}

/** What a name asks for. Names as written above and no other way, so that a cache has each file once. */
export type FileName =
  | { readonly type: 'multivariant' }
  | { readonly type: 'media'; readonly variant: number }
  | { readonly type: 'whole' }
  | TextFileName
  | NumberedFile;

/** Of a text track: its playlist, or its text. */
export interface TextFileName {
  readonly type: 'texts' | 'text';
  readonly id: string;
}

export interface NumberedFile {
  readonly type: 'segment' | 'init';
  readonly number: number;
  /** 0: of the source; n: of its rendition n. */
  readonly variant: number;
}

export function parseFileName(name: string): FileName | undefined {
  if (name === multivariantName) return { type: 'multivariant' };
  if (name === wholeName) return { type: 'whole' };
  const playlist = /^(?:source|r([1-9]\d{0,2}))\.m3u8$/.exec(name);
  if (playlist) return { type: 'media', variant: Number(playlist[1] ?? 0) };
  const text = /^text_([a-z0-9-]{1,32})\.(m3u8|vtt)$/.exec(name);
  if (text) return { type: text[2] === 'vtt' ? 'text' : 'texts', id: text[1] };
  const match = /^(?:r([1-9]\d{0,2}))?(seg|init)(0|[1-9]\d{0,8})\.mp4$/.exec(name);
  if (!match) return undefined;
  const [, variant = 0, type, number] = match;
  return { type: type === 'seg' ? 'segment' : 'init', number: Number(number), variant: Number(variant) };
}

function prefixOf(variant: number): string {
  return variant === 0 ? '' : `r${variant}`;
}
