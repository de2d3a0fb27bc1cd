import { dateLine, discontinuityLine, mapLine, mediaHead, segmentLines } from '../hls/playlist.ts';
import { initName, segmentName } from './file-name.ts';
import type { SegmentIndex } from './segment-index.ts';

/** Segments written in one turn of the event loop: some 0.3 ms. */
const perTurn = 500;
/** ms by which the date of a segment may differ from what the dates before it say; beyond, it gets its own. */
const drift = 50;

/**
 * The playlist of a complete film, RFC 8216bis 4.4.3 and 4.4.4. A day has 43,200 segments, so it is written over several turns of the
 * event loop. Throws the reason of an aborted signal.
 *
 * @param options `variant`: whose playlist it is (`file-name.ts`). That of a rendition has the numbers, lengths and discontinuities of
 * its source, and names the source's files where it has none of its own.
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
  const { target } = writing;
  const head = `${mediaHead({ version, target })}#EXT-X-PLAYLIST-TYPE:VOD\n#EXT-X-MEDIA-SEQUENCE:0\n`;
  return new Uint8Array(Buffer.concat([Buffer.from(head), ...pieces, Buffer.from('#EXT-X-ENDLIST\n')]));
}

/** Upper bound of its bytes, known before it is written. */
export function mostBytes({ count }: SegmentIndex): number {
  return longestEnds + count * longestSegment;
}

// Bytes, by the tags below.
const longestEnds = 512;
const longestSegment = 192;

/** Of HLS: 7 has EXT-X-MAP in any playlist. */
export const version = 7;

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
    if (isDiscontinuity && number > 0) text += discontinuityLine;
    const { ofSource } = index.inits[init] ?? {};
    const file = ofSource === undefined ? { variant: writing.variant, init } : { variant: 0, init: ofSource };
    if (init !== writing.init) text += mapLine(initName(file.init, file.variant));
    // Dates that can be counted from those before are left out: they would double a long playlist. Uploads have none.
    const isDated = !Number.isNaN(wallStart);
    const hasDate = isDated && (isDiscontinuity || !(Math.abs(wallStart - writing.date) <= drift));
    if (hasDate) text += dateLine(wallStart);
    text += segmentLines({ duration, uri: segmentName(number, file.variant) });
    writing.init = init;
    writing.date = (hasDate ? Math.round(wallStart) : writing.date) + duration * 1000;
    // Players round what is written to the nearest second.
    writing.target = Math.max(writing.target, Math.round(Number(duration.toFixed(5))));
  }
  return text;
}
