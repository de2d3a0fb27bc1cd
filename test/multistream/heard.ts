/** An audio (8) or video (9) message as a far side got it. */
export interface Heard {
  readonly type: 8 | 9;
  /** Milliseconds. */
  readonly timestamp: number;
  readonly body: Uint8Array;
}

/** An FLV file of them (Adobe FLV 10.1, E.3), for tools that read files. */
export function flvOf(messages: readonly Heard[]): Uint8Array {
  const file = new Uint8Array(13 + messages.reduce((sum, { body }) => sum + body.length + 15, 0));
  file.set([0x46, 0x4c, 0x56, 1, 5, 0, 0, 0, 9]);
  const view = new DataView(file.buffer);
  let at = 13;
  for (const { type, timestamp, body } of messages) {
    view.setUint32(at, ((type << 24) | body.length) >>> 0);
    view.setUint32(at + 4, (((timestamp & 0xffffff) << 8) | (timestamp >>> 24)) >>> 0);
    file.set(body, at + 11);
    view.setUint32(at + 11 + body.length, body.length + 11);
    at += body.length + 15;
  }
  return file;
}
