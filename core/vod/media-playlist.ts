import { initName, segmentName } from './file-name.ts';
import { vodLimits } from './limits.ts';
import type { SegmentIndex } from './segment-index.ts';

const perTurn = vodLimits.turn.value;
const drift = vodLimits.dateDrift.value;

/**
 * RFC 8216bis 4.4.3 and 4.4.4: the playlist of something that is complete. A day has 43,200 segments, so it is written in
 * stretches, each one turn of the event loop. Throws the reason of an aborted signal.
 *
 * @param options `variant`: whose playlist it is (`file-name.ts`). One of a rendition has the numbers, lengths and discontinuities of
 * its source, and names the source's files where it has none of its own; the times in them are those of one timeline.
 */
export async function mediaPlaylist(
  index: SegmentIndex,
  { signal, variant = 0 }: { signal: AbortSignal; variant?: number },
): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  const writing: Writing = { variant, init: -1, date: Number.NaN, target: 1 };
  for (let from = 0; from < index.count; from += perTurn) {
    if (from > 0) await new Promise((resolve) => setImmediate(resolve));
    signal.throwIfAborted();
    const to = Math.min(from + perTurn, index.count);
    pieces.push(Buffer.from(stretch(index, { from, to, writing }), 'latin1'));
  }
  const head =
    `#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:${writing.target}\n` +
    '#EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-MEDIA-SEQUENCE:0\n';
  return joined([Buffer.from(head), ...pieces, Buffer.from('#EXT-X-ENDLIST\n')]);
}

/** More bytes than the playlist can have, known before it is written. */
export function mostBytes({ count }: SegmentIndex): number {
  return longestEnds + count * longestSegment;
}

// Bytes; they follow from the tags below.
const longestEnds = 512;
const longestSegment = 192;

interface Writing {
  readonly variant: number;
  /** Of the segment before. */
  init: number;
  /** Epoch ms at which the next segment begins, by the dates before it. */
  date: number;
  /** Seconds. */
  target: number;
}

function stretch(index: SegmentIndex, options: { from: number; to: number; writing: Writing }): string {
  const { from, to, writing } = options;
  let text = '';
  for (let number = from; number < to; number += 1) {
    const { duration, wallStart, init, isDiscontinuity } = index.segment(number);
    if (isDiscontinuity && number > 0) text += '#EXT-X-DISCONTINUITY\n';
    const { ofSource } = index.inits[init] ?? {};
    const file = ofSource === undefined ? { variant: writing.variant, init } : { variant: 0, init: ofSource };
    if (init !== writing.init) text += `#EXT-X-MAP:URI="${initName(file.init, file.variant)}"\n`;
    // A date on each of them would double the playlist of a long film, and says what can be counted.
    // What was not live has none.
    const isDated = !Number.isNaN(wallStart);
    const hasDate = isDated && (isDiscontinuity || !(Math.abs(wallStart - writing.date) <= drift));
    if (hasDate) text += `#EXT-X-PROGRAM-DATE-TIME:${new Date(wallStart).toISOString()}\n`;
    const seconds = duration.toFixed(5);
    text += `#EXTINF:${seconds},\n${segmentName(number, file.variant)}\n`;
    writing.init = init;
    writing.date = (hasDate ? Math.round(wallStart) : writing.date) + duration * 1000;
    // As players round it: what is written, to the nearest second.
    writing.target = Math.max(writing.target, Math.round(Number(seconds)));
  }
  return text;
}

function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}
