/**
 * Width and height of a JPEG, by the frame header of its first picture (ITU-T T.81 B.2.2). Undefined: it is none, or is not whole.
 */
export function jpegSize(bytes: Uint8Array): { readonly width: number; readonly height: number } | undefined {
  const { length } = bytes;
  if (length < 4 || !isMarker(bytes, 0, START) || !isMarker(bytes, length - 2, END)) return undefined;
  for (let at = 2; at + 9 <= length; ) {
    if (bytes[at] !== 0xff) return undefined;
    const marker = bytes[at + 1];
    // Of what comes before the picture itself every segment says how long it is.
    if (marker >= 0xc0 && marker <= 0xc2) {
      const height = bytes[at + 5] * 0x100 + bytes[at + 6];
      const width = bytes[at + 7] * 0x100 + bytes[at + 8];
      return width > 0 && height > 0 ? { width, height } : undefined;
    }
    at += 2 + bytes[at + 2] * 0x100 + bytes[at + 3];
  }
  return undefined;
}

const START = 0xd8;
const END = 0xd9;

function isMarker(bytes: Uint8Array, at: number, marker: number): boolean {
  return bytes[at] === 0xff && bytes[at + 1] === marker;
}

/** The JPEGs that lie one behind the other. Empty where the bytes are anything else. */
export function splitJpegs(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
  const found: Uint8Array<ArrayBuffer>[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = endOf(bytes, start);
    if (end === undefined) return [];
    found.push(bytes.slice(start, end));
    start = end;
  }
  return found;
}

/** Where the JPEG ends that begins there: behind its last marker, which no segment and no coded data hides (T.81 B.1.1). */
function endOf(bytes: Uint8Array, start: number): number | undefined {
  if (!isMarker(bytes, start, START)) return undefined;
  for (let at = start + 2; at + 1 < bytes.length; ) {
    const marker = bytes[at] === 0xff ? bytes[at + 1] : 0;
    if (marker === END) return at + 2;
    // All other bytes are coded data, or restart it.
    const isSegment = marker >= 0xc0 && marker < 0xff && !(marker >= 0xd0 && marker <= 0xd8);
    at += isSegment ? 2 + bytes[at + 2] * 0x100 + bytes[at + 3] : 1;
  }
  return undefined;
}
