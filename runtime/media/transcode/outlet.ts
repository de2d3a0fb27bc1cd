/** Hands pieces from a writer to a reader, one at a time: `give` waits until the piece is taken. */
export class Outlet {
  #piece: { readonly bytes: Uint8Array; taken(): void } | undefined;
  #isClosed = false;
  #wake = () => {};

  give(bytes: Uint8Array): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    return new Promise((taken) => {
      this.#piece = { bytes, taken };
      this.#wake();
    });
  }

  /** Undefined: nothing comes any more. */
  async take(): Promise<Uint8Array | undefined> {
    while (!this.#piece && !this.#isClosed)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    const piece = this.#piece;
    this.#piece = undefined;
    piece?.taken();
    return piece?.bytes;
  }

  /** What was given and not taken is taken still. */
  close(): void {
    this.#isClosed = true;
    this.#wake();
  }

  /** The reader is gone. */
  drop(): void {
    this.close();
    void this.take();
  }
}
