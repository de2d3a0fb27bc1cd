import type { FileIo } from '../../runtime/media/recording/thread/file-io.ts';

/** A file of any size that keeps what lies at the front of each write; the rest of it reads as ones. */
export class SparseIo implements FileIo {
  readonly #pieces: { at: number; bytes: Uint8Array }[] = [];
  readonly #kept: number;
  size = 0;

  /** @param options.kept bytes of each write */
  constructor(options: { kept: number }) {
    this.#kept = options.kept;
  }

  read(at: number, into: Uint8Array): number {
    const count = Math.max(0, Math.min(into.length, this.size - at));
    into.fill(1, 0, count);
    for (const piece of this.#pieces) {
      if (piece.at >= at + count || piece.at + piece.bytes.length <= at) continue;
      const from = Math.max(0, at - piece.at);
      const to = Math.min(piece.bytes.length, at + count - piece.at);
      into.set(piece.bytes.subarray(from, to), piece.at + from - at);
    }
    return count;
  }

  write(at: number, bytes: Uint8Array): void {
    this.#pieces.push({ at, bytes: bytes.slice(0, this.#kept) });
    this.size = Math.max(this.size, at + bytes.length);
  }

  truncate(size: number): void {
    if (size !== this.size) throw new Error('nothing is cut off this one');
  }
}
