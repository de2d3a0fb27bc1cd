import type { PushTrouble } from '../../../core/ports/pusher.ts';

/**
 * The seam between what is to be sent and how a server is spoken to: one way for each kind of URL (`rtmp-push.ts`,
 * `srt-push.ts`), and one caller, which owns the queue (`push.ts`).
 */
export type OpenPush = (url: string, handlers: PushHandlers) => OpeningPush;

export interface OpeningPush {
  /** Gives up, or leaves at once without a word. Nothing is called afterwards. */
  abort(): void;
}

export interface PushHandlers {
  /** On whose behalf it is opened; default: nobody's. */
  readonly owner?: string;
  /** Media may be written: the server said yes, or says so once media came (`isAccepted`). At most once, never during the call of `OpenPush`. */
  onOpen(connection: PushConnection): void;
  /** The server said yes to a connection that was opened with `isAccepted: false`. At most once, behind `onOpen`, never during a call of ours. */
  onAccepted?(): void;
  /** It takes bytes again, after `write` took less than it was given. */
  onDrain(): void;
  /**
   * It failed before the server said yes, or broke behind that. At most once, the last call, never during the call of `OpenPush`
   * nor of one of the connection.
   */
  onEnd(trouble: PushTrouble): void;
}

export interface PushConnection {
  /**
   * False: whether the server takes it is known only after media was written (SRT through ffmpeg, which reads what comes before it
   * connects). It takes bytes, but is not connected until `onAccepted`; what ends before that has failed and was not lost.
   * Left out: the server said yes already.
   */
  readonly isAccepted?: false;
  /** How messages are written down for it. */
  readonly framing: Framing;
  /**
   * Hands bytes to the network: answers how many of them it took. The rest is given again after `onDrain`. `bytes` are good
   * during the call alone: their buffer is used again.
   */
  write(bytes: Uint8Array): number;
  /**
   * Says goodbye as an encoder does, once all that was written has left, and closes. No handler is called any more. Never called
   * while a message is half written: such a connection is aborted.
   */
  leave(): void;
}

/**
 * Writes FLV message bodies as RTMP chunks, or as FLV tags. Nothing is allocated for a message. Each message stands for itself,
 * with its whole timestamp and length: those that wait behind it, and have been written down, may be left out.
 */
export interface Framing {
  /** Bytes that come before the first message. */
  readonly preamble: Uint8Array;
  /** Most bytes that a message with a body of `length` bytes takes. */
  sizeOf(length: number): number;
  /**
   * Writes the message with the body `bytes[start, end)` at `out[at]`; answers where it ends. `type`: 8 audio, 9 video, 18 data
   * (an AMF0 `@setDataFrame` message). `timestamp`: ms from 0, taken modulo 2^32.
   */
  write(
    out: Uint8Array,
    at: number,
    type: number,
    timestamp: number,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): number;
}
