import { ProtocolError } from './protocol-error.ts';

/**
 * The server's side of the plain handshake (RTMP 1.0, section 5.2), for input cut anywhere.
 *
 * A C1 with a digest, as Flash and some encoders send, is echoed like any other: librtmp, ffmpeg and OBS
 * take that. S1 has version 0, which tells a peer that no digest follows.
 */
export class Handshake {
  /** C2 has been received: chunks follow. */
  isDone = false;
  readonly #write: (bytes: Uint8Array) => void;
  readonly #received = new Uint8Array(1 + SIZE);
  #length = 0;

  constructor(write: (bytes: Uint8Array) => void) {
    this.#write = write;
  }

  /** Reads `bytes[from, to)` and returns where the handshake ended, or `to`. Throws when C0 is not 3. */
  feed(bytes: Uint8Array, from: number, to: number): number {
    let at = from;
    if (this.#length < 1 + SIZE) {
      const count = Math.min(1 + SIZE - this.#length, to - at);
      this.#received.set(bytes.subarray(at, at + count), this.#length);
      this.#length += count;
      at += count;
      if (count > 0 && this.#received[0] !== VERSION) throw new ProtocolError('this is not RTMP version 3');
      if (this.#length < 1 + SIZE) return at;
      this.#answer();
    }
    // What C2 holds is of no interest: encoders get it wrong and nothing hangs on it.
    const count = Math.min(1 + 2 * SIZE - this.#length, to - at);
    this.#length += count;
    this.isDone = this.#length === 1 + 2 * SIZE;
    return at + count;
  }

  #answer(): void {
    const answer = new Uint8Array(1 + 2 * SIZE);
    answer[0] = VERSION;
    crypto.getRandomValues(answer.subarray(9, 1 + SIZE));
    answer.set(this.#received.subarray(1), 1 + SIZE);
    this.#write(answer);
  }
}

const VERSION = 3;
const SIZE = 1536;
