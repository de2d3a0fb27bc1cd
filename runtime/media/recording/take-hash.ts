import { createHash } from 'node:crypto';
import type { TakeIo } from './take-file.ts';

/** md5 and sha256 of a file, piece by piece from its beginning. */
export class TakeHash {
  #md5 = createHash('md5');
  #sha256 = createHash('sha256');
  #bytes = 0;
  #digest: { md5: string; sha256: string } | undefined;

  /** Bytes hashed so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Begins again: what was read may not be what the disk has. */
  restart(): void {
    this.#md5 = createHash('md5');
    this.#sha256 = createHash('sha256');
    this.#bytes = 0;
    this.#digest = undefined;
  }

  /** Hashes the next bytes, through `into`: as many as fit there, at most up to `to`. */
  step(io: TakeIo, { to, into }: { to: number; into: Uint8Array }): void {
    const piece = into.subarray(0, Math.max(0, to - this.#bytes));
    const count = io.read(this.#bytes, piece);
    if (count < piece.length) {
      throw new Error(`a take ends at ${this.#bytes + count}, before ${this.#bytes + piece.length}`);
    }
    this.#md5.update(piece);
    this.#sha256.update(piece);
    this.#bytes += count;
  }

  /** Of all bytes hashed, in hex. Nothing is added afterwards. */
  digest(): { md5: string; sha256: string } {
    this.#digest ??= { md5: this.#md5.digest('hex'), sha256: this.#sha256.digest('hex') };
    return this.#digest;
  }
}
