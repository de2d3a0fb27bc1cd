/** One tag of an FLV file. `body` is what an RTMP message of that type carries. */
export interface FlvTag {
  readonly type: 8 | 9 | 18;
  /** Milliseconds. */
  readonly timestamp: number;
  readonly body: Uint8Array;
}

/** The tags of an FLV file, Adobe FLV 10.1 E.3 and E.4. */
export function readFlv(file: Uint8Array): FlvTag[] {
  const view = new DataView(file.buffer, file.byteOffset, file.length);
  const tags: FlvTag[] = [];
  let at = view.getUint32(5) + 4;
  while (at + 11 <= file.length) {
    const size = view.getUint32(at) & 0xffffff;
    const timestamp = ((view.getUint32(at + 4) >>> 8) | (file[at + 7] << 24)) >>> 0;
    const type = file[at] & 31;
    if (type === 8 || type === 9 || type === 18)
      tags.push({ type, timestamp, body: file.subarray(at + 11, at + 11 + size) });
    at += 11 + size + 4;
  }
  return tags;
}
