import type { FilmPlayback, FilmSegments, Inspection } from '../../../../core/ports/inspector.ts';
import type { TrackSpec, VideoSpec } from '../../../../core/ports/recorder.ts';
import { takeHead } from '../../vod/head.ts';
import { indexFilm } from '../../vod/index-film.ts';
import { ForeignRefusal, Refusal } from './boxes.ts';
import type { ReadableFile } from './file.ts';
import { type Film, type FilmTrack, isQuickTime, readFilm } from './read-film.ts';
import { maxSampleSeconds } from './samples.ts';

/** Longest film, seconds: a week. */
const maxDuration = 604_800;
/** Seconds by which headers may claim more than the samples last. */
const maxExcess = 60;

export interface Inspected {
  readonly inspection: Inspection;
  /** Of an accepted file, when it was asked for. */
  readonly playback?: FilmPlayback;
}

/**
 * Is it an mp4 with H.264 and AAC, and what is in it? Computes long for large films: only for a thread of its own.
 * `isPlayed`: what playback of it needs is made too. `isConverted`: so is what a converter needs of a film of another kind.
 */
export async function inspectFile(
  file: ReadableFile,
  {
    isPlayed = false,
    isConverted = false,
  }: { readonly isPlayed?: boolean; readonly isConverted?: boolean } = {},
): Promise<Inspected> {
  try {
    const film = await readFilm(file, { isConverted });
    const { passedOver } = film;
    const inspection = { ok: true, spec: describe(film), passedOver } as const;
    if (!isPlayed) return { inspection };
    const { uncut, ...hls } = segmentsOf(film);
    // The last that is made of it.
    const head = takeHead(film);
    return {
      inspection: { ...inspection, ...(uncut !== undefined && { uncut }) },
      playback: { ...hls, ...(head && { head }) },
    };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const foreign = error instanceof ForeignRefusal && { foreign: error.foreign };
    return { inspection: { ok: false, reason: error.message, ...foreign } };
  }
}

/** A film that cannot be cut is accepted all the same: it can be played as a file. */
function segmentsOf(film: Film): { readonly hls?: FilmSegments; readonly uncut?: string } {
  try {
    return { hls: indexFilm(film) };
  } catch (error) {
    if (error instanceof Refusal) return { uncut: error.message };
    throw error;
  }
}

/**
 * `videoSpec` of a film, as ffprobe would say it: what its samples come to, cut by edit lists, and never what a header
 * claims. Throws Refusal when headers claim more than there is.
 */
function describe(film: Film): VideoSpec {
  const spans = film.tracks.map((track) => spanOf(track, film));
  const start = Math.min(...spans.map((span) => span.start));
  const end = Math.max(...spans.map((span) => span.start + span.duration));
  const duration = end - start;
  if (duration > maxDuration)
    throw new Refusal(`it lasts ${Math.round(duration)} s; expected ${maxDuration} s at most`);
  // Tracks that are passed over may last longer.
  if (film.passedOver.length === 0 && (film.claimed ?? 0) > end + maxExcess)
    throw new Refusal(claims('it', { claimed: film.claimed ?? 0, found: duration }));
  return {
    format: isQuickTime(film.start) ? 'mov' : 'mp4',
    duration: round(duration),
    bitrate: duration > 0 ? Math.round((film.size * 8) / duration) : 0,
    tracks: film.tracks.map((track, index) => describeTrack(track, spans[index].duration)),
  };
}

/** Seconds from the beginning of the film, and seconds it is shown. */
function spanOf(
  { track, measure }: FilmTrack,
  { isFragmented }: Film,
): { readonly start: number; readonly duration: number } {
  const { timescale, edits, label } = track;
  const lasts = (measure.end - measure.firstDts) / timescale;
  const claimed = (track.claimed ?? 0) / timescale;
  // Some write into the header of a fragmented film when it ends, not how long it lasts.
  const found = isFragmented ? measure.end / timescale : lasts;
  if (claimed > found + maxExcess) throw new Refusal(claims(label, { claimed, found: lasts }));
  if (edits === undefined) {
    const start = track.handler === 'vide' || isFragmented ? measure.firstPts / timescale : 0;
    return { start, duration: claimed > 0 && !isFragmented ? Math.min(claimed, lasts) : lasts };
  }
  if (edits.empty > maxSampleSeconds)
    throw new Refusal(
      `${label} begins ${Math.round(edits.empty)} s after the film; expected ${maxSampleSeconds} s at most`,
    );
  if (edits.duration - edits.empty > found + maxExcess)
    throw new Refusal(claims(`the edit list of ${label}`, { claimed: edits.duration, found: lasts }));
  if (isFragmented)
    return { start: edits.empty + (measure.firstPts - edits.start) / timescale, duration: lasts };
  return {
    start: edits.empty,
    duration: Math.min(lasts, edits.duration, claimed > 0 ? claimed : Number.POSITIVE_INFINITY),
  };
}

function claims(who: string, { claimed, found }: { claimed: number; found: number }): string {
  return `${who} claims to last ${Math.round(claimed)} s, but has samples for ${found.toFixed(1)} s`;
}

function describeTrack({ track, measure }: FilmTrack, duration: number): TrackSpec {
  const [entry] = track.entries;
  const seconds = measure.ticks / track.timescale;
  const plain = {
    duration: round(duration),
    bitrate: seconds > 0 ? Math.round((measure.bytes * 8) / seconds) : 0,
  };
  if (entry.kind === 'other') throw new Error(`${track.label} is ${entry.name}`);
  if (entry.kind === 'aac') {
    const { channels, sampleRate } = entry.output;
    return { type: 'audio', codec: 'aac', ...plain, channels, sampleRate };
  }
  const { pixelFormat } = entry;
  const { width, height } = entry.config;
  return {
    type: 'video',
    codec: 'h264',
    ...plain,
    ...(seconds > 0 && { fps: round(measure.samples / seconds) }),
    width,
    height,
    ...(pixelFormat !== undefined && { pixelFormat }),
  };
}

/** To a millionth, as ffprobe prints times. */
function round(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}
