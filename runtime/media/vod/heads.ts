import { join } from '../mp4/box.ts';
import { Refusal } from '../mp4/inspect/boxes.ts';
import { onDemandLimits } from './limits.ts';

/** A blob that is put together in memory, in pieces of about one size, so that it is never there twice. */
export class Heads {
  readonly #pieces: Uint8Array<ArrayBuffer>[] = [];
  #open: Uint8Array[] = [];
  #openSize = 0;
  #size = 0;

  /** Where the bytes lie in the blob. */
  add(bytes: Uint8Array): { readonly at: number; readonly size: number } {
    const { headsPiece, headsSize } = onDemandLimits;
    const at = this.#size;
    this.#size += bytes.length;
    if (this.#size > headsSize.value)
      throw new Refusal(`what is needed to cut it has more than ${headsSize.value} bytes`);
    this.#open.push(bytes);
    this.#openSize += bytes.length;
    if (this.#openSize >= headsPiece.value) this.#close();
    return { at, size: bytes.length };
  }

  finish(): readonly Uint8Array<ArrayBuffer>[] {
    this.#close();
    return this.#pieces;
  }

  #close(): void {
    this.#pieces.push(join(this.#open));
    this.#open = [];
    this.#openSize = 0;
  }
}
