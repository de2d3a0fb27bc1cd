/** The files of a film below its address. Segments and inits are numbered as in its index, from 0. */
export const multivariantName = 'index.m3u8';
export const mediaName = 'source.m3u8';
/** All of it as one mp4. */
export const wholeName = 'source.mp4';

export function segmentName(number: number): string {
  return `seg${number}.mp4`;
}

export function initName(number: number): string {
  return `init${number}.mp4`;
}

/** What a name asks for. Names as written above and no other way, so that a cache has each file once. */
export type FileName =
  | { readonly type: 'multivariant' }
  | { readonly type: 'media' }
  | { readonly type: 'whole' }
  | NumberedFile;

export interface NumberedFile {
  readonly type: 'segment' | 'init';
  readonly number: number;
}

export function parseFileName(name: string): FileName | undefined {
  if (name === multivariantName) return { type: 'multivariant' };
  if (name === mediaName) return { type: 'media' };
  if (name === wholeName) return { type: 'whole' };
  const match = /^(seg|init)(0|[1-9]\d{0,8})\.mp4$/.exec(name);
  if (!match) return undefined;
  return { type: match[1] === 'seg' ? 'segment' : 'init', number: Number(match[2]) };
}
