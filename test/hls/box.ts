export interface Box {
  readonly type: string;
  /** The payload, without size and type. */
  readonly body: DataView;
  readonly start: number;
  readonly end: number;
}

/** The boxes of `bytes`, which they must fill exactly. */
export function boxes(bytes: Uint8Array): Box[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const found: Box[] = [];
  let at = 0;
  while (at < bytes.length) {
    const size = view.getUint32(at);
    if (size < 8 || at + size > bytes.length)
      throw new Error(`box at ${at} has size ${size} of ${bytes.length}`);
    const type = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
    const body = new DataView(bytes.buffer, bytes.byteOffset + at + 8, size - 8);
    found.push({ type, body, start: at, end: at + size });
    at += size;
  }
  return found;
}

/** The payload of a box. */
export function bytesOf(box: Box): Uint8Array {
  return new Uint8Array(box.body.buffer, box.body.byteOffset, box.body.byteLength);
}
