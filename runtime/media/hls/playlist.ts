import type { Part, Segment } from './segment.ts';
import type { LiveWindow } from './window.ts';

/** What a playlist is rendered from. `prefix` begins every file name. */
export interface PlaylistSource {
  readonly window: LiveWindow;
  readonly prefix: string;
  /** Seconds, least PART-TARGET. */
  readonly partTarget: number;
}

/**
 * The media playlist, RFC 8216bis 4.4.3 and 4.4.4, with parts for the last three target durations. As a delta
 * update (6.2.5.1) EXT-X-SKIP stands for what is older than the skip boundary, tags included; when nothing
 * is, it is the whole playlist.
 */
export function mediaPlaylist(source: PlaylistSource, options: { isDelta: boolean }): string {
  const { window, prefix } = source;
  const { listed, open, hint, targetDuration, skipBoundary } = window;
  const end = open?.duration ?? 0;
  const skipped = options.isDelta ? countBefore(listed, { distance: skipBoundary, end }) : 0;
  const withParts = countBefore(listed, { distance: 3 * targetDuration, end });
  let partTarget = source.partTarget;
  let body = skipped > 0 ? `#EXT-X-SKIP:SKIPPED-SEGMENTS=${skipped}\n` : '';
  let former: Segment | undefined = listed[skipped - 1];
  for (let i = skipped; i < listed.length; i += 1) {
    const segment = listed[i];
    body += heading(segment, { former, prefix });
    if (i >= withParts && !isFirstOfPublish(segment)) {
      body += dateLine(segment) + partLines(segment, prefix) + segmentLines(segment, prefix);
      partTarget = longest(segment.parts, partTarget);
    } else {
      // Kept, because a long window would otherwise be written out anew with each part.
      segment.lines ??= dateLine(segment) + segmentLines(segment, prefix);
      body += segment.lines;
    }
    former = segment;
  }
  if (open !== undefined && open.parts.length > 0) {
    body += heading(open, { former, prefix }) + dateLine(open) + partLines(open, prefix);
    partTarget = longest(open.parts, partTarget);
  }
  // hls.js 1.7 takes a last line that names a segment for one that still grows, and gives up for good when
  // the playlist then goes on with another: so the last line never does, also while nobody publishes.
  body +=
    hint === undefined
      ? '# nobody publishes now\n'
      : `#EXT-X-PRELOAD-HINT:TYPE=PART,URI="${partName(prefix, hint.sequence, hint.part)}"\n`;
  // Rounded up, so that no part is longer than it and the hold-back is three of it.
  const target = Math.ceil(partTarget * 1000 - 1e-6) / 1000;
  const sequence = listed[0]?.sequence ?? window.nextSequence;
  const canSkip =
    skipBoundary === Number.POSITIVE_INFINITY ? '' : `CAN-SKIP-UNTIL=${skipBoundary.toFixed(1)},`;
  return (
    `#EXTM3U\n#EXT-X-VERSION:9\n#EXT-X-TARGETDURATION:${targetDuration}\n` +
    `#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,${canSkip}PART-HOLD-BACK=${(target * 3).toFixed(3)}\n` +
    `#EXT-X-PART-INF:PART-TARGET=${target.toFixed(3)}\n#EXT-X-MEDIA-SEQUENCE:${sequence}\n` +
    `#EXT-X-DISCONTINUITY-SEQUENCE:${window.discontinuitySequence}\n${body}`
  );
}

/** How many of the listed segments end at least `distance` seconds before the end; `end`: seconds behind the last. */
function countBefore(listed: readonly Segment[], options: { distance: number; end: number }): number {
  let left = options.distance - options.end;
  let count = listed.length;
  while (count > 0 && left > 0) {
    count -= 1;
    left -= listed[count].duration;
  }
  return count;
}

/** The multivariant playlist, RFC 8216bis 4.4.6: one variant, measured. */
export function multivariantPlaylist(source: PlaylistSource): string {
  const { rate, init } = source.window;
  let line = `BANDWIDTH=${Math.max(1, rate.peak)},AVERAGE-BANDWIDTH=${Math.max(1, rate.average)}`;
  if (init !== undefined) {
    line += `,CODECS="${init.codecs.join(',')}"`;
    if (init.width !== undefined) line += `,RESOLUTION=${init.width}x${init.height}`;
    if (init.frameRate !== undefined) line += `,FRAME-RATE=${init.frameRate.toFixed(3)}`;
  }
  return `#EXTM3U\n#EXT-X-VERSION:9\n#EXT-X-STREAM-INF:${line}\n${MEDIA_PLAYLIST}\n`;
}

export const MULTIVARIANT_PLAYLIST = 'index.m3u8';
export const MEDIA_PLAYLIST = 'source.m3u8';
/** The same broadcast from its first second. */
export const DVR_PLAYLIST = 'dvr.m3u8';

/** What a file name asks for. */
export type FileRef =
  | { readonly type: 'init'; readonly id: number }
  | { readonly type: 'segment'; readonly sequence: number }
  | { readonly type: 'dvrInit'; readonly id: number }
  | { readonly type: 'dvrSegment'; readonly sequence: number }
  | { readonly type: 'part'; readonly sequence: number; readonly part: number };

/** The inverse of the names below; undefined for any other name. */
export function parseName(file: string, prefix: string): FileRef | undefined {
  if (file.length > 64 || !file.startsWith(prefix) || !file.endsWith('.mp4')) return undefined;
  const match = /^_(init|seg|part|dvr|dvrinit)(0|[1-9]\d{0,14})(?:\.(0|[1-9]\d{0,5}))?\.mp4$/.exec(
    file.slice(prefix.length),
  );
  if (match === null || (match[1] === 'part') !== (match[3] !== undefined)) return undefined;
  const number = Number(match[2]);
  if (match[1] === 'init') return { type: 'init', id: number };
  if (match[1] === 'dvrinit') return { type: 'dvrInit', id: number };
  if (match[1] === 'dvr') return { type: 'dvrSegment', sequence: number };
  if (match[1] === 'seg') return { type: 'segment', sequence: number };
  return { type: 'part', sequence: number, part: Number(match[3]) };
}

export function dvrSegmentName(prefix: string, sequence: number): string {
  return `${prefix}_dvr${sequence}.mp4`;
}

export function dvrInitName(prefix: string, id: number): string {
  return `${prefix}_dvrinit${id}.mp4`;
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

/** The tags by which a segment differs from the one before it. */
function heading(segment: Segment, options: { former: Segment | undefined; prefix: string }): string {
  const map = `#EXT-X-MAP:URI="${initName(options.prefix, segment.init.id)}"\n`;
  return (
    (segment.isDiscontinuity ? '#EXT-X-DISCONTINUITY\n' : '') +
    (segment.init.id === options.former?.init.id ? '' : map)
  );
}

function dateLine(segment: Segment): string {
  return `#EXT-X-PROGRAM-DATE-TIME:${new Date(segment.wallStart).toISOString()}\n`;
}

function segmentLines(segment: Segment, prefix: string): string {
  return `#EXTINF:${segment.duration.toFixed(5)},\n${segmentName(prefix, segment.sequence)}\n`;
}

/**
 * The first segment of a publish is one part, and is listed as a segment only. A player that came for the
 * part would take the segment too, over what it is just showing: Chromium then drops every picture up to the
 * next key frame (seen with hls.js 1.7).
 */
function isFirstOfPublish(segment: Segment): boolean {
  return segment.parts.length === 1 && segment.isFirst && !segment.isShown;
}

function partLines(segment: Segment, prefix: string): string {
  let lines = '';
  for (let i = 0; i < segment.parts.length; i += 1) {
    const { duration, isIndependent } = segment.parts[i];
    const name = partName(prefix, segment.sequence, i);
    lines += `#EXT-X-PART:DURATION=${duration.toFixed(5)},URI="${name}"${isIndependent ? ',INDEPENDENT=YES' : ''}\n`;
  }
  return lines;
}

function longest(parts: readonly Part[], least: number): number {
  let most = least;
  for (const { duration } of parts) if (duration > most) most = duration;
  return most;
}
