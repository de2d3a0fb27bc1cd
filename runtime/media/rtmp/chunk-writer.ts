/** One message to send. Type ids: `messageType`. */
export interface Message {
  readonly type: number;
  /** Chunk stream to send it on, 2..63. */
  readonly csid: number;
  /** Message stream id; 0 for the connection itself. */
  readonly streamId: number;
  /** Milliseconds; default 0. Below 0xFFFFFF, as everything a server says is. */
  readonly timestamp?: number;
  readonly body: Uint8Array | readonly number[];
}

/** One message as chunks of `chunkSize`: fmt 0, then fmt 3 for the rest (RTMP 1.0, section 5.3.1). */
export function encodeMessage(message: Message, chunkSize: number): Uint8Array<ArrayBuffer> {
  const { type, csid, streamId, timestamp = 0, body } = message;
  const length = body.length;
  const out = new Uint8Array(12 + length + Math.max(0, Math.ceil(length / chunkSize) - 1));
  out[0] = csid;
  out.set([timestamp >> 16, timestamp >> 8, timestamp, length >> 16, length >> 8, length, type], 1);
  new DataView(out.buffer).setUint32(8, streamId, true);
  let at = 12;
  for (let index = 0; index < length; index += 1) {
    if (index > 0 && index % chunkSize === 0) out[at++] = 0xc0 | csid;
    out[at++] = body[index];
  }
  return out;
}
