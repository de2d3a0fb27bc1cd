import { Refusal } from '../inspect/refusal.ts';
import { onDemandLimits } from './limits.ts';

/** A blob that is put together in memory, in chunks of one size, so that it is never there twice. */
export class Heads {
  readonly #chunks: Uint8Array<ArrayBuffer>[] = [];
  #at = 0;

  /** Where the bytes lie in the blob. */
  add(bytes: Uint8Array): { readonly at: number; readonly size: number } {
    const at = this.#at;
    const { headsChunk, headsSize } = onDemandLimits;
    if (at + bytes.length > headsSize.value)
      throw new Refusal(`what is needed to cut it has more than ${headsSize.value} bytes`);
    for (let done = 0; done < bytes.length; ) {
      const free = this.#chunks.length * headsChunk.value - this.#at;
      if (free === 0) this.#chunks.push(new Uint8Array(headsChunk.value));
      const part = bytes.subarray(done, done + (free === 0 ? headsChunk.value : free));
      this.#chunks[this.#chunks.length - 1].set(part, this.#at % headsChunk.value);
      this.#at += part.length;
      done += part.length;
    }
    return { at, size: bytes.length };
  }

  finish(): Uint8Array<ArrayBuffer>[] {
    const last = this.#chunks.pop();
    if (last !== undefined) this.#chunks.push(last.slice(0, this.#at - this.#chunks.length * last.length));
    return this.#chunks;
  }
}
