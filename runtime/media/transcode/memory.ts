import type { VideoSpec } from '../../../core/ports/recorder.ts';
import type { H264Settings } from '../ffmpeg/h264.ts';

const mebibyte = 1_048_576;
/** Bytes of a process beside its pictures: program, libraries, sound; and stacks and heaps of each thread. Measured with ffmpeg 5.1. */
const base = 220 * mebibyte;
const perThread = 16 * mebibyte;
/** Pictures that a decoder keeps: 16 references (H.264, HEVC), those on their way out, and two for each thread. */
const decoded = 24;
const decodedPerThread = 2;
/** The same of an encoder: pictures to look ahead at, references with their filtered copies, and those of each thread. */
const encoded = 44;
const encodedPerThread = 10;
/** Further ones of slow presets of libx264. */
const encodedSlowly = 90;
/** A process that only copies: packets of one fragment. */
export const copyMemory = 384 * mebibyte;

export interface Size {
  readonly width: number;
  readonly height: number;
  /** Bytes of a pixel. Default: 8 bits in 4:2:0. */
  readonly pixelBytes?: number;
}

/**
 * Bytes that a conversion may need in the worst case, by pixels × references: a film of 16 references is charged as much as it may
 * take, whatever it says of itself.
 */
export function memoryOf({ from, to, isSlow = false }: Work, threads: number): number {
  if (from === undefined) return Number.POSITIVE_INFINITY;
  const kept = encoded + (isSlow ? encodedSlowly : 0);
  return (
    base +
    perThread * threads +
    bytesOf(from) * (decoded + decodedPerThread * threads) +
    bytesOf(to) * (kept + encodedPerThread * threads)
  );
}

export interface Work {
  /** Undefined: not known. */
  readonly from: Size | undefined;
  readonly to: Size;
  /** By a preset of the encoder that looks far ahead. */
  readonly isSlow?: boolean;
}

const fastPresets: ReadonlySet<string | undefined> = new Set([
  'ultrafast',
  'superfast',
  'veryfast',
  'faster',
]);

export function isSlowPreset({ encoder, preset }: H264Settings): boolean {
  return encoder === 'libx264' && !fastPresets.has(preset);
}

/** Threads with which a conversion fits, at least one. */
export function fittingThreads(work: Work, { threads, memory }: { threads: number; memory: number }): number {
  let fitting = threads;
  while (fitting > 1 && memoryOf(work, fitting) > memory) fitting -= 1;
  return fitting;
}

/** The pictures of a film by what is known of it. */
export function sizeOf({ tracks }: Pick<VideoSpec, 'tracks'>): Size | undefined {
  const video = tracks.find((track) => track.type === 'video');
  if (!video?.width || !video.height) return undefined;
  const { width, height, pixelFormat = '' } = video;
  const chroma = /444/.test(pixelFormat) ? 3 : /422/.test(pixelFormat) ? 2 : 1.5;
  return { width, height, pixelBytes: chroma * (/p1\d/.test(pixelFormat) ? 2 : 1) };
}

/** Fits into another with its shape kept, never larger. */
export function fitInto(from: Size | undefined, { width, height }: Size): Size {
  if (from === undefined) return { width, height };
  const scale = Math.min(1, width / from.width, height / from.height);
  return { width: from.width * scale, height: from.height * scale };
}

function bytesOf({ width, height, pixelBytes = 1.5 }: Size): number {
  return width * height * pixelBytes;
}
