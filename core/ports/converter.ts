import { Fault } from '../base/fault.ts';
import type { Film } from '../vod/films.ts';
import type { ForeignFilm } from './inspector.ts';
import type { VideoSpec } from './recorder.ts';
import type { RenditionProfile } from './transcoder.ts';

/** Largest picture that is converted: 8K as cameras send it. */
export const maxPixels = 8192 * 4352;
/** Pictures a second of a film that is converted, on average. */
export const maxFrameRate = 250;
/** A film may come out shorter than its source claims by so many seconds, or by this share of it. */
const maxLoss = 2;
const maxLossShare = 0.02;

/**
 * Makes films of films: another size of an asset, and an mp4 with H.264 and AAC of a file that is none. The work is ffmpeg's, in
 * processes that are less urgent than the server; as many as `conversion.running` run at one time, others wait.
 *
 * What is answered is read as fast as it is made, and is an mp4 in fragments. It begins with the first read. Cancelling it, or
 * aborting the signal, ends the process; when reading has ended, in whatever way, none is left.
 *
 * Faults, while it is read: `conversion.refused` (422, `retry: false`: this film cannot be converted, or goes beyond a limit),
 * `conversion.unavailable` (503: there is no ffmpeg here, or no place; try again). What reading the film throws, and
 * the reason of the signal, are thrown as they are.
 */
export interface Converter {
  /** Whether there is an ffmpeg on this node now. It may be installed and removed while the server runs. */
  isAvailable(): Promise<boolean>;
  /** The pictures of an asset as one profile says. Sound is kept as it is where it is AAC. */
  transcode(film: SourceFilm, order: TranscodeOrder): ReadableStream<Uint8Array>;
  /** A film that is no mp4 with H.264 and AAC as one that is: tracks that are either are taken over as they are. */
  normalise(file: ForeignFile, order: NormaliseOrder): ReadableStream<Uint8Array>;
  /** Of all of them, for metrics. */
  totals(): ConverterTotals;
  /** What runs is ended; later calls are Fault `conversion.unavailable`. */
  close(): void;
}

/** A film in the blob store that was found good, and what is in it. */
export interface SourceFilm extends Film {
  readonly spec: VideoSpec;
}

/** A file of this machine. It must not change meanwhile. */
export interface ForeignFile {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  readonly foreign: ForeignFilm;
}

export interface ConversionOrder {
  /** Whose film it is. */
  readonly account: string;
  readonly signal: AbortSignal;
  /** How much of the film was read, 0..1, often. */
  progress(fraction: number): void;
}

export interface TranscodeOrder extends ConversionOrder {
  readonly profile: RenditionProfile;
}

export interface NormaliseOrder extends ConversionOrder {
  /** Nothing is taken over as it is: what came of that was no good. */
  readonly isAnew?: boolean;
}

export interface ConverterTotals {
  readonly running: number;
  readonly waiting: number;
  /** Since the start, by what became of them. */
  readonly ended: Readonly<Record<ConversionEnd, number>>;
}

export type ConversionEnd = 'done' | 'refused' | 'broken_off';

/** Why a film is not converted, in plain words that follow "the film is not converted: "; undefined when it may be. */
export function beyondConversion({ tracks }: VideoSpec): string | undefined {
  const video = tracks.find((track) => track.type === 'video');
  if (!video) return 'it has no video';
  const { width = 0, height = 0, fps = 0 } = video;
  if (width * height > maxPixels)
    return `its pictures have ${width} × ${height} pixels; expected at most ${maxPixels} in all`;
  if (fps > maxFrameRate)
    return `it has ${Math.round(fps)} pictures a second; expected at most ${maxFrameRate}`;
  return undefined;
}

/**
 * Whether a film came out whole, by its length; seconds. One that is not looks like one that was cut off: ffmpeg says nothing of bytes
 * that it could not read, and ends well. Fault `conversion.refused`.
 */
export function checkLength(made: number, source: number): void {
  if (made >= source - Math.max(maxLoss, source * maxLossShare)) return;
  const message = `The film is not converted: only ${made.toFixed(1)} of ${source.toFixed(1)} s of it could be read.`;
  throw new Fault('conversion.refused', { status: 422, message, retry: false });
}
