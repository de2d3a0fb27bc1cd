import type { TrackSpec, VideoSpec } from '../../../../core/ports/recorder.ts';
import { isQuickTime } from './file-type.ts';
import { inspectionLimits } from './limits.ts';
import type { Film, FilmTrack } from './read-film.ts';
import { Refusal } from './refusal.ts';

/**
 * `videoSpec` of a film, as ffprobe would say it: what its samples come to, cut by edit lists, and never what a header
 * claims. Throws Refusal when headers claim more than there is.
 */
export function describe(film: Film): VideoSpec {
  const spans = film.tracks.map((track) => spanOf(track, film));
  const start = Math.min(...spans.map((span) => span.start));
  const end = Math.max(...spans.map((span) => span.start + span.duration));
  const duration = end - start;
  const { excessDuration, duration: longest } = inspectionLimits;
  if (duration > longest.value)
    throw new Refusal(`it lasts ${Math.round(duration)} s; expected ${longest.value} s at most`);
  // Tracks that are passed over may last longer.
  if (film.passedOver.length === 0 && (film.claimed ?? 0) > end + excessDuration.value)
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
  const { excessDuration, sampleDuration } = inspectionLimits;
  // Some write into the header of a fragmented film when it ends, not how long it lasts.
  const found = isFragmented ? measure.end / timescale : lasts;
  if (claimed > found + excessDuration.value) throw new Refusal(claims(label, { claimed, found: lasts }));
  if (edits === undefined) {
    const start = track.handler === 'vide' || isFragmented ? measure.firstPts / timescale : 0;
    return { start, duration: claimed > 0 && !isFragmented ? Math.min(claimed, lasts) : lasts };
  }
  if (edits.empty > sampleDuration.value)
    throw new Refusal(
      `${label} begins ${Math.round(edits.empty)} s after the film; expected ${sampleDuration.value} s at most`,
    );
  if (edits.duration - edits.empty > found + excessDuration.value)
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
