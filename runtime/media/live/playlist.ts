import {
  multivariantPlaylist as allVariants,
  dateLine,
  discontinuityLine,
  mapLine,
  mediaHead,
  type Subtitles,
  segmentLines,
} from '../../../core/hls/playlist.ts';
import type { FileNames } from './names.ts';
import type { Part, Segment } from './segment.ts';
import type { LiveWindow } from './window.ts';

/** What a playlist is rendered from. */
export interface PlaylistSource {
  readonly window: LiveWindow;
  readonly names: FileNames;
  /** `hls.part` in seconds: PART-TARGET is never less. */
  readonly partTarget: number;
  /** Seconds that PART-HOLD-BACK is above the least that is allowed. */
  readonly reserve: number;
}

/**
 * The media playlist, RFC 8216bis 4.4.3 and 4.4.4, with parts for the last three target durations. As a delta
 * update (6.2.5.1) EXT-X-SKIP stands for what is older than the skip boundary, tags included; when nothing
 * is, it is the whole playlist.
 */
export function mediaPlaylist(source: PlaylistSource, options: { isDelta: boolean }): string {
  const { window, names } = source;
  const { listed, open, hint, targetDuration, skipBoundary } = window;
  const end = open?.duration ?? 0;
  const skipped = options.isDelta ? countBefore(listed, { distance: skipBoundary, end }) : 0;
  const withParts = countBefore(listed, { distance: 3 * targetDuration, end });
  let partTarget = source.partTarget;
  let body = skipped > 0 ? `#EXT-X-SKIP:SKIPPED-SEGMENTS=${skipped}\n` : '';
  let former: Segment | undefined = listed[skipped - 1];
  for (let i = skipped; i < listed.length; i += 1) {
    const segment = listed[i];
    body += heading(segment, { former, names });
    if (i >= withParts && !isFirstOfAll(segment)) {
      body += dateLine(segment.wallStart) + partLines(segment, names) + linesOf(segment, names);
      partTarget = longest(segment.parts, partTarget);
    } else {
      body += keptLines(segment, names);
    }
    former = segment;
  }
  if (open !== undefined && open.parts.length > 0) {
    body += heading(open, { former, names }) + dateLine(open.wallStart) + partLines(open, names);
    partTarget = longest(open.parts, partTarget);
  }
  // hls.js 1.7 takes a last line that names a segment for one that still grows, and gives up for good when
  // the playlist then goes on with another: so the last line never does, also while nobody publishes.
  body +=
    hint === undefined
      ? '# nobody publishes now\n'
      : `#EXT-X-PRELOAD-HINT:TYPE=PART,URI="${names.part(hint.sequence, hint.part)}"\n`;
  // Rounded up, so that no part is longer than it and the hold-back is three of it.
  const target = Math.ceil(partTarget * 1000 - 1e-6) / 1000;
  const sequence = listed[0]?.sequence ?? window.nextSequence;
  const canSkip =
    skipBoundary === Number.POSITIVE_INFINITY ? '' : `CAN-SKIP-UNTIL=${skipBoundary.toFixed(1)},`;
  return (
    `${mediaHead({ version: 9, target: targetDuration })}` +
    `#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,${canSkip}PART-HOLD-BACK=${(target * 3 + source.reserve).toFixed(3)}\n` +
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

/**
 * EXT-X-RENDITION-REPORT (RFC 8216bis 4.4.5.4): what another playlist of the same broadcast lists last, so that a player that
 * goes there asks for the right part at once.
 */
export function renditionReport(window: LiveWindow, name: string): string {
  const made = window.open?.parts.length ?? 0;
  const last = made > 0 ? window.open : window.segment(window.nextSequence - 1);
  if (last === undefined) return '';
  const { sequence, parts } = last;
  return `#EXT-X-RENDITION-REPORT:URI="${name}",LAST-MSN=${sequence},LAST-PART=${parts.length - 1}\n`;
}

/** The multivariant playlist, RFC 8216bis 4.4.6: the variants in this order, measured. */
export function multivariantPlaylist(
  variants: readonly { window: LiveWindow; name: string }[],
  subtitles: readonly Subtitles[],
): string {
  const all = variants.map(({ window: { rate, init }, name }) => ({
    variant: { codecs: [], ...init, bandwidth: rate },
    uri: name,
  }));
  return allVariants(all, { version: 9, subtitles });
}

/** The tags by which a segment differs from the one before it. */
function heading(
  { init, isDiscontinuity }: Segment,
  { former, names }: { former: Segment | undefined; names: FileNames },
): string {
  const isMapped = names.init !== undefined && init.id !== former?.init.id;
  const map = isMapped ? mapLine(names.init(init.id)) : '';
  return (isDiscontinuity ? discontinuityLine : '') + map;
}

function linesOf({ isGap, duration, sequence }: Segment, names: FileNames): string {
  const gap = isGap ? '#EXT-X-GAP\n' : '';
  return gap + segmentLines({ duration, uri: names.segment(sequence) });
}

/** Those of media are kept, because a long window would otherwise be written out anew with each part. */
function keptLines(segment: Segment, names: FileNames): string {
  const lines = () => dateLine(segment.wallStart) + linesOf(segment, names);
  if (names.init === undefined) return lines();
  segment.lines ??= lines();
  return segment.lines;
}

/**
 * The first segment of a playlist is one part, and is listed as a segment only. A player that came for the
 * part would take the segment too, over what it is just showing: Chromium then drops every picture up to the
 * next key frame (seen with hls.js 1.7).
 */
function isFirstOfAll(segment: Segment): boolean {
  return segment.parts.length === 1 && segment.isFirst && !segment.isShown;
}

function partLines(segment: Segment, names: FileNames): string {
  let lines = '';
  for (let i = 0; i < segment.parts.length; i += 1) {
    const { duration } = segment.parts[i];
    // Text can be read from any part.
    const isIndependent = names.init === undefined || segment.parts[i].isIndependent;
    const name = names.part(segment.sequence, i);
    lines += `#EXT-X-PART:DURATION=${duration.toFixed(5)},URI="${name}"${isIndependent ? ',INDEPENDENT=YES' : ''}\n`;
  }
  return lines;
}

function longest(parts: readonly Part[], least: number): number {
  let most = least;
  for (const { duration } of parts) if (duration > most) most = duration;
  return most;
}
