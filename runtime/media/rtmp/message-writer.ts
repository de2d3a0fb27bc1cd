import { copyBytes } from '../../base/copy-bytes.ts';

/** Message type ids (RTMP 1.0, 5.4, 6.2 and 7.1). */
export const messageType = {
  setChunkSize: 1,
  abort: 2,
  acknowledgement: 3,
  userControl: 4,
  windowAckSize: 5,
  setPeerBandwidth: 6,
  audio: 8,
  video: 9,
  dataAmf3: 15,
  commandAmf3: 17,
  dataAmf0: 18,
  commandAmf0: 20,
} as const;

/** What belongs to a publish: media and data. */
export function isMedia(type: number): boolean {
  return (
    type === messageType.video ||
    type === messageType.audio ||
    type === messageType.dataAmf0 ||
    type === messageType.dataAmf3
  );
}

/** Commands and protocol control: what the connection itself is about. */
export function isControl(type: number): boolean {
  return (
    type === messageType.commandAmf0 ||
    type === messageType.commandAmf3 ||
    (type >= messageType.setChunkSize && type <= messageType.setPeerBandwidth)
  );
}

/** Bytes that a message with a body of `length` bytes takes at most, in chunks of `chunkSize`. */
export function chunkedSize(length: number, chunkSize: number): number {
  return length + 16 + Math.ceil(length / chunkSize) * 5;
}

/** One message as chunks. */
export function encodeMessage(message: Message): Uint8Array {
  const out = new Uint8Array(chunkedSize(message.body.length, message.chunkSize));
  return out.subarray(0, writeMessage(out, 0, message));
}

/** Writes one message as chunks into `out` from `start` on and answers the position after it: see `writeChunks`. */
export function writeMessage(out: Uint8Array, start: number, message: Message): number {
  const { chunkStream, type, streamId, timestamp, body, chunkSize } = message;
  return writeChunks(out, start, chunkStream, type, streamId, timestamp, body, 0, body.length, chunkSize);
}

export interface Message {
  /** 2..63, so that it fits the one-byte form. */
  readonly chunkStream: number;
  readonly type: number;
  readonly streamId: number;
  readonly timestamp: number;
  readonly body: Uint8Array;
  readonly chunkSize: number;
}

/**
 * Writes the message with the body `bytes[from, to)` as chunks (RTMP 5.3.1) at `out[start]` and answers the position after
 * it: a whole header (fmt 0), then fmt 3 for the rest. From 2^24 - 1 ms on the timestamp goes into the extended field, in
 * every chunk of the message, as all common senders do. Allocates nothing: so many numbers in a row.
 */
export function writeChunks(
  out: Uint8Array,
  start: number,
  chunkStream: number,
  type: number,
  streamId: number,
  timestamp: number,
  bytes: Uint8Array,
  from: number,
  to: number,
  chunkSize: number,
): number {
  const time = timestamp >>> 0;
  const short = Math.min(time, 0xffffff);
  const length = to - from;
  let at = start;
  out[at++] = chunkStream;
  out[at++] = short >>> 16;
  out[at++] = short >>> 8;
  out[at++] = short;
  out[at++] = length >>> 16;
  out[at++] = length >>> 8;
  out[at++] = length;
  out[at++] = type;
  out[at++] = streamId;
  out[at++] = streamId >>> 8;
  out[at++] = streamId >>> 16;
  out[at++] = streamId >>> 24;
  for (let next = from; ; ) {
    if (short === 0xffffff) {
      out[at++] = time >>> 24;
      out[at++] = time >>> 16;
      out[at++] = time >>> 8;
      out[at++] = time;
    }
    const count = Math.min(chunkSize, to - next);
    copyBytes(bytes, next, out, at, count);
    at += count;
    next += count;
    if (next >= to) return at;
    out[at++] = 0xc0 | chunkStream;
  }
}
