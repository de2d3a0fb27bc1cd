import type { StillFormat } from '../../../core/ports/stills.ts';
import type { FfmpegOptions } from '../ffmpeg/command.ts';
import { jpegSize } from './jpeg-size.ts';

/** JPEG quality as ffmpeg counts it (`-q:v`): 2 is best, 31 worst. WebP from 0 to 100. */
const jpegQuality = 4;
const webpQuality = 80;
/** An animation is many pictures: they may be smaller. */
const webpMotionQuality = 65;

/** How ffmpeg writes pictures of a format. */
export interface Encoding {
  readonly muxer: string;
  readonly encoder: FfmpegOptions;
  /** Range of brightness, for the filter `scale`. Default: that of video. */
  readonly range?: 'pc';
  /** The filter at the end, which makes the pixels that the encoder takes. */
  readonly pixels: string;
}

export const encodings: Readonly<Record<StillFormat, Encoding>> = {
  jpeg: {
    muxer: 'image2pipe',
    encoder: { 'c:v': 'mjpeg', 'q:v': jpegQuality },
    range: 'pc',
    pixels: 'format=yuvj420p',
  },
  png: { muxer: 'image2pipe', encoder: { 'c:v': 'png' }, pixels: 'format=rgb24' },
  webp: {
    muxer: 'image2pipe',
    encoder: { 'c:v': 'libwebp', quality: webpQuality },
    pixels: 'format=yuv420p',
  },
  gif: {
    muxer: 'gif',
    encoder: { 'c:v': 'gif', loop: 0 },
    // 256 colours that fit this film.
    pixels: 'split[a][b];[a]palettegen=stats_mode=diff[p];[b][p]paletteuse',
  },
};

/** Of an animation. JPEG and PNG have none. */
export const motionEncodings: Partial<typeof encodings> = {
  gif: encodings.gif,
  webp: {
    muxer: 'webp',
    encoder: { 'c:v': 'libwebp_anim', quality: webpMotionQuality, compression_level: 2, loop: 0 },
    pixels: 'format=yuv420p',
  },
};

/** Width and height of a picture of any of these formats. Undefined: it is none, or is not whole. */
export function pictureSize(
  bytes: Uint8Array,
): { readonly width: number; readonly height: number } | undefined {
  return jpegSize(bytes) ?? pngSize(bytes) ?? gifSize(bytes) ?? webpSize(bytes);
}

/** PNG (W3C) 5.2 and 11.2.2: a signature, the chunk IHDR, and IEND as the last one. */
function pngSize(bytes: Uint8Array) {
  if (textAt(bytes, 0, 8) !== '\x89PNG\r\n\x1a\n' || textAt(bytes, 12, 4) !== 'IHDR') return undefined;
  if (textAt(bytes, bytes.length - 8, 4) !== 'IEND') return undefined;
  const view = viewOf(bytes);
  return sides(view.getUint32(16), view.getUint32(20));
}

/** GIF89a 18 and 27: the logical screen, and a trailer. */
function gifSize(bytes: Uint8Array) {
  if (!/^GIF8[79]a$/.test(textAt(bytes, 0, 6)) || bytes.at(-1) !== 0x3b) return undefined;
  const view = viewOf(bytes);
  return sides(view.getUint16(6, true), view.getUint16(8, true));
}

/** WebP (RFC 9649) 2.5 to 2.7: RIFF with the chunk VP8, VP8L or VP8X in front. */
function webpSize(bytes: Uint8Array) {
  if (bytes.length < 30 || textAt(bytes, 0, 4) !== 'RIFF' || textAt(bytes, 8, 4) !== 'WEBP') return undefined;
  const view = viewOf(bytes);
  if (view.getUint32(4, true) + 8 > bytes.length) return undefined;
  switch (textAt(bytes, 12, 4)) {
    case 'VP8 ':
      return sides(view.getUint16(26, true) & 0x3fff, view.getUint16(28, true) & 0x3fff);
    case 'VP8L': {
      const bits = view.getUint32(21, true);
      return sides((bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1);
    }
    case 'VP8X':
      return sides((view.getUint32(24, true) & 0xffffff) + 1, (view.getUint32(26, true) >>> 8) + 1);
    default:
      return undefined;
  }
}

function sides(width: number, height: number) {
  return width > 0 && height > 0 ? { width, height } : undefined;
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

function textAt(bytes: Uint8Array, at: number, length: number): string {
  return at < 0 ? '' : String.fromCharCode(...bytes.subarray(at, at + length));
}
