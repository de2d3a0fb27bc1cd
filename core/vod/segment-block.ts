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
