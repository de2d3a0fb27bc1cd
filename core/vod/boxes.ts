/** What a box contains, or several behind each other (ISO/IEC 14496-12 4.2), without the eight bytes in front of it. */
export interface Box {
  readonly view: DataView;
  readonly from: number;
  readonly to: number;
}

/** Boxes behind each other. */
export function boxOf(bytes: Uint8Array): Box {
  return { view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length), from: 0, to: bytes.length };
}

/** The boxes at this path of types. A last one that is cut off counts as far as it goes. */
export function within(box: Box, [type, ...rest]: readonly string[]): Box[] {
  const { view, to } = box;
  const found: Box[] = [];
  for (let at = box.from; at + 8 <= to; ) {
    const size = view.getUint32(at);
    if (size < 8) break;
    if (typeAt(view, at + 4) === type) found.push({ view, from: at + 8, to: Math.min(at + size, to) });
    at += size;
  }
  return rest.length === 0 ? found : found.flatMap((one) => within(one, rest));
}

/** Four letters. */
export function typeAt(view: DataView, at: number): string {
  return String.fromCharCode(...[0, 1, 2, 3].map((offset) => view.getUint8(at + offset)));
}
