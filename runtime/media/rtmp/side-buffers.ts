import { copyBytes } from '../../base/copy-bytes.ts';
import { ProtocolError } from './protocol-error.ts';

/** Bytes that cannot be used where they arrive, put together here, one run per number. */
export class SideBuffers {
  /** Most bytes held together. Lowering it is obeyed by what comes later. */
  limit: number;
  #held = 0;
  readonly #complaint: string;
  readonly #buffers = new Map<number, { bytes: Uint8Array; length: number }>();

  /** @param complaint what the `ProtocolError` says when more than `limit` bytes are held. */
  constructor(options: { limit: number; complaint: string }) {
    this.limit = options.limit;
    this.#complaint = options.complaint;
  }

  /** Grows with the bytes received, never with the length a header promises. */
  append(run: number, bytes: Uint8Array, from: number, count: number): void {
    if (this.#held + count > this.limit) throw new ProtocolError(this.#complaint);
    this.#held += count;
    let buffer = this.#buffers.get(run);
    if (buffer === undefined) {
      buffer = { bytes: new Uint8Array(Math.max(256, count)), length: 0 };
      this.#buffers.set(run, buffer);
    }
    const need = buffer.length + count;
    if (need > buffer.bytes.length) {
      const grown = new Uint8Array(Math.max(need, 2 * buffer.bytes.length));
      grown.set(buffer.bytes.subarray(0, buffer.length));
      buffer.bytes = grown;
    }
    copyBytes(bytes, from, buffer.bytes, buffer.length, count);
    buffer.length = need;
  }

  /** Hands the bytes over and forgets them. */
  take(run: number): Uint8Array {
    const buffer = this.#buffers.get(run);
    this.drop(run);
    return buffer === undefined ? new Uint8Array(0) : buffer.bytes.subarray(0, buffer.length);
  }

  drop(run: number): void {
    const buffer = this.#buffers.get(run);
    if (buffer === undefined) return;
    this.#held -= buffer.length;
    this.#buffers.delete(run);
  }
}
