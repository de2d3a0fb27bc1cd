import type { TakeIo } from './take-file.ts';

/** md5 and sha256 of a file, piece by piece from its beginning. */
export class TakeHash {
  #md5 = new Bun.CryptoHasher('md5');
  #sha256 = new Bun.CryptoHasher('sha256');
  #digest: { md5: string; sha256: string } | undefined;
  /** Bytes that were hashed. */
  at = 0;

  /** Hashes on, at most as much as `buffer` holds, up to `to`. */
  step(io: TakeIo, { to, buffer }: { to: number; buffer: Uint8Array }): void {
    const into = buffer.subarray(0, Math.min(buffer.length, to - this.at));
    const count = io.read(this.at, into);
    if (count < into.length) throw new Error(`a take ends at ${this.at + count}, before ${to}`);
    this.#md5.update(into);
    this.#sha256.update(into);
    this.at += count;
  }

  /** Of all bytes so far, in hex. Nothing is added afterwards. */
  digest(): { md5: string; sha256: string } {
    this.#digest ??= { md5: this.#md5.digest('hex'), sha256: this.#sha256.digest('hex') };
    return this.#digest;
  }
}
