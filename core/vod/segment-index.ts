import type { Variant } from '../hls/playlist.ts';

/**
 * Where the HLS segments of a recording lie in its file, as a blob of its own: readable without parsing (a header of JSON, then
 * rows of numbers), so that a day of segments costs the thread that reads sockets nothing.
 *
 * Layout, little endian: `u32` length of the header, header (UTF-8 JSON, padded with spaces to a multiple of 8 together with
 * the length), then for each segment 5 × `f64`: at, size, duration (s), wallStart (epoch ms), and `init × 2 + isDiscontinuity`.
 *
 * The index of a **rendition** is as long as that of its source: segment n of the one is shown while segment n of the other is,
 * and where the rendition has none, the source's own stands there.
 */
export interface SegmentIndex {
  readonly inits: readonly IndexedInit[];
  /** bit/s over the whole and of the densest segment. */
  readonly bandwidth: { readonly average: number; readonly peak: number };
  readonly count: number;
  /** Where each segment begins, seconds from the beginning of the film; then where the last one ends. */
  readonly starts: Float64Array;
  segment(number: number): IndexedSegment;
}

/** An init segment: bytes of the file too. */
export interface IndexedInit {
  readonly at: number;
  readonly size: number;
  /** RFC 6381. */
  readonly codecs: readonly string[];
  readonly width?: number;
  readonly height?: number;
  readonly frameRate?: number;
  /** In the index of a rendition: it is this init of the source, and it and the segments that need it lie in the source's file. */
  readonly ofSource?: number;
}

export interface IndexedSegment {
  /** Place of its first byte in the file. */
  readonly at: number;
  readonly size: number;
  /** Seconds. */
  readonly duration: number;
  /** Its first sample, epoch ms; NaN: it was never live. */
  readonly wallStart: number;
  /** Which of `inits` it needs. */
  readonly init: number;
  readonly isDiscontinuity: boolean;
}

/** Numbers of a segment in the index. */
export const rowSize = 5;

export function rowOf(segment: IndexedSegment): readonly number[] {
  const { at, size, duration, wallStart, init, isDiscontinuity } = segment;
  return [at, size, duration, wallStart, init * 2 + Number(isDiscontinuity)];
}

export function segmentOf(rows: Float64Array, number: number): IndexedSegment {
  const row = number * rowSize;
  const last = rows[row + 4];
  return {
    at: rows[row],
    size: rows[row + 1],
    duration: rows[row + 2],
    wallStart: rows[row + 3],
    init: Math.floor(last / 2),
    isDiscontinuity: last % 2 === 1,
  };
}

export function writeSegmentIndex(index: {
  readonly inits: readonly IndexedInit[];
  readonly bandwidth: SegmentIndex['bandwidth'];
  readonly segments: readonly IndexedSegment[];
}): Uint8Array<ArrayBuffer> {
  const { inits, bandwidth, segments } = index;
  const text = Buffer.from(JSON.stringify({ version: 1, inits, bandwidth }));
  const padding = (8 - ((4 + text.length) % 8)) % 8;
  const start = 4 + text.length + padding;
  const bytes = new Uint8Array(start + segments.length * rowSize * 8);
  new DataView(bytes.buffer).setUint32(0, text.length + padding, true);
  bytes.set(text, 4);
  bytes.fill(0x20, 4 + text.length, start);
  const rows = new Float64Array(bytes.buffer, start);
  segments.forEach((segment, number) => {
    rows.set(rowOf(segment), number * rowSize);
  });
  return bytes;
}

/** Throws RangeError for anything else. */
export function readSegmentIndex(bytes: Uint8Array): SegmentIndex {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = bytes.length >= 4 ? view.getUint32(0, true) : -1;
  const start = 4 + length;
  if (length < 2 || start > bytes.length || (bytes.length - start) % (rowSize * 8) !== 0)
    throw new RangeError('this is no index of segments');
  const head = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset + 4, length).toString()) as Head;
  if (head.version !== 1) throw new RangeError(`version ${head.version} of an index of segments is unknown`);
  // Copied, because the rows may lie anywhere in memory.
  const rows = new Float64Array(new Uint8Array(bytes.subarray(start)).buffer);
  const count = rows.length / rowSize;
  let starts: Float64Array | undefined;
  const index: SegmentIndex = {
    inits: head.inits,
    bandwidth: head.bandwidth,
    count,
    // Kept, as a film of a week has 200,000 segments.
    get starts() {
      starts ??= startsOf(index);
      return starts;
    },
    segment(number) {
      if (!(number >= 0 && number < count)) throw new RangeError(`there is no segment ${number}`);
      return segmentOf(rows, number);
    },
  };
  return index;
}

function startsOf({ count, segment }: SegmentIndex): Float64Array {
  const starts = new Float64Array(count + 1);
  for (let number = 0; number < count; number += 1)
    starts[number + 1] = starts[number] + segment(number).duration;
  return starts;
}

interface Head extends Pick<SegmentIndex, 'inits' | 'bandwidth'> {
  readonly version: number;
}

/** Where reconnects changed the picture, `codecs` are all that come, and size and frame rate are the greatest. */
export function variantOf({ inits, bandwidth }: Pick<SegmentIndex, 'inits' | 'bandwidth'>): Variant {
  let size: Pick<Variant, 'width' | 'height'> = {};
  let most = 0;
  let frameRate = 0;
  for (const init of inits) {
    const { width = 0, height = 0 } = init;
    if (width * height > most) {
      most = width * height;
      size = { width, height };
    }
    frameRate = Math.max(frameRate, init.frameRate ?? 0);
  }
  const codecs = [...new Set(inits.flatMap((init) => init.codecs))];
  return { bandwidth, codecs, ...size, ...(frameRate > 0 && { frameRate }) };
}

/**
 * A segment of a film that was not packaged for HLS, as it lies in a blob of such: what comes before its media, and which
 * bytes of the film's file the media is.
 *
 * Layout, little endian: `u32` number of ranges, `u32` 0, then for each 2 × `f64` (from, to; `to` is not part of it), then the
 * head: a `moof` box and the header of an `mdat` box.
 */
export interface SegmentBlock {
  readonly ranges: readonly (readonly [from: number, to: number])[];
  /** Where the head begins in the block; it goes to its end. */
  readonly headAt: number;
}

export function writeSegmentBlock(segment: {
  readonly head: Uint8Array;
  readonly ranges: SegmentBlock['ranges'];
}): Uint8Array<ArrayBuffer> {
  const { head, ranges } = segment;
  const headAt = headOffset(ranges.length);
  const bytes = new Uint8Array(headAt + head.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, ranges.length, true);
  ranges.forEach(([from, to], index) => {
    view.setFloat64(8 + index * 16, from, true);
    view.setFloat64(16 + index * 16, to, true);
  });
  bytes.set(head, headAt);
  return bytes;
}

/** RangeError when these bytes are none. */
export function readSegmentBlock(bytes: Uint8Array): SegmentBlock {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const count = bytes.length >= 8 ? view.getUint32(0, true) : Number.POSITIVE_INFINITY;
  const headAt = headOffset(count);
  if (headAt > bytes.length) throw new RangeError('this is no block of a segment');
  const ranges = Array.from(
    { length: count },
    (_, index) => [view.getFloat64(8 + index * 16, true), view.getFloat64(16 + index * 16, true)] as const,
  );
  return { ranges, headAt };
}

function headOffset(ranges: number): number {
  return 8 + ranges * 16;
}
