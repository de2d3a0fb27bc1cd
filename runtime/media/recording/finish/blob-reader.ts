import type { Blobs } from '../../../../core/ports/blobs.ts';
import { unavailable } from '../writing-thread.ts';

/** Reads bytes of one blob forwards, as they arrive. */
export class BlobReader {
  readonly #key: string;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #piece: Uint8Array = new Uint8Array();
  /** Of the next byte. */
  at: number;

  private constructor(key: string, options: { from: number; body: ReadableStream<Uint8Array> }) {
    this.#key = key;
    this.at = options.from;
    this.#reader = options.body.getReader();
  }

  static async open(
    blobs: Blobs,
    { key, from, signal }: { key: string; from: number; signal: AbortSignal },
  ): Promise<BlobReader> {
    const got = await blobs.get(key, { range: { from }, signal });
    if (got.outcome !== 'ok') throw unavailable(`the blob ${key} is ${got.outcome}`);
    return new BlobReader(key, { from, body: got.body });
  }

  async read(size: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(size);
    for (let filled = 0; filled < size; ) {
      const piece = await this.#some(size - filled);
      bytes.set(piece, filled);
      filled += piece.length;
    }
    return bytes;
  }

  async skipTo(at: number): Promise<void> {
    while (this.at < at) await this.#some(at - this.at);
    if (this.at > at) throw unavailable(`the index of ${this.#key} does not ascend`);
  }

  async close(): Promise<void> {
    await this.#reader.cancel().catch(() => {});
  }

  /** At least one byte. */
  async #some(most: number): Promise<Uint8Array> {
    while (this.#piece.length === 0) {
      const { done, value } = await this.#reader.read();
      if (done) throw unavailable(`the blob ${this.#key} ends at ${this.at}`);
      this.#piece = value;
    }
    const some = this.#piece.subarray(0, most);
    this.#piece = this.#piece.subarray(some.length);
    this.at += some.length;
    return some;
  }
}

/** `size` bytes of a blob. */
export async function readBlob(
  blobs: Blobs,
  { size, ...where }: { key: string; from: number; size: number; signal: AbortSignal },
): Promise<Uint8Array> {
  const reader = await BlobReader.open(blobs, where);
  return reader.read(size).finally(() => reader.close());
}
