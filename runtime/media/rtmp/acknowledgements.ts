/**
 * Counts received bytes and says when the peer is owed an Acknowledgement (RTMP 1.0, sections 5.4.3, 5.4.4).
 *
 * A large window can wait for the next sweep: ffmpeg and others close their socket behind their last byte,
 * and an Acknowledgement that lies unread there turns the close into a reset, which throws away the end of
 * the broadcast, FCUnpublish and all. The fewer are sent while much is under way, the rarer that is.
 */
export class Acknowledgements {
  /** Bytes received on this connection. */
  received = 0;
  #acknowledged = 0;
  #window: number;

  /** @param window bytes the peer may send between acknowledgements until it says otherwise. */
  constructor(window: number) {
    this.#window = window;
  }

  /** A Window Acknowledgement Size message in `bytes[start, end)`; one cut short is ignored. */
  setWindow(bytes: Uint8Array, start: number, end: number): void {
    if (end - start < 4) return;
    const size = new DataView(bytes.buffer, bytes.byteOffset + start).getUint32(0);
    if (size > 0) this.#window = Math.max(size, SMALLEST_WINDOW);
  }

  /** True when what was received must be acknowledged now: a small window is full. */
  count(bytes: number): boolean {
    this.received += bytes;
    return this.#window < PATIENT_WINDOW && this.take();
  }

  /** True when a window is full; the caller acknowledges `received`. */
  take(): boolean {
    if (this.received - this.#acknowledged < this.#window) return false;
    this.#acknowledged = this.received;
    return true;
  }
}

/** A smaller window would have us acknowledge every few bytes. */
export const SMALLEST_WINDOW = 16_384;
/** From here on a full window waits for the sweep; a peer that stopped for it would still reach 4 MB/s. */
const PATIENT_WINDOW = 1_000_000;
