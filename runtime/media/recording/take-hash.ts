import { blockSize } from './md5/kernel.ts';
import { type Md5, Md5State } from './md5/md5.ts';
import { type TakeIo, takeBlock } from './take-file.ts';

/** md5 and sha256 of a file, piece by piece from its beginning, in whole blocks of both. */
export class TakeHash {
  #md5 = new Md5State();
  #sha256 = new Bun.CryptoHasher('sha256');
  #digest: { md5: string; sha256: string } | undefined;

  get md5(): Md5State {
    return this.#md5;
  }

  /** Nothing is hashed: what was read may not be what the disk has. */
  restart(): void {
    this.#md5 = new Md5State();
    this.#sha256 = new Bun.CryptoHasher('sha256');
    this.#digest = undefined;
  }

  /** Bytes of whole blocks that are not hashed, up to `to`. */
  due(to: number): number {
    const bytes = to - this.md5.bytes;
    return bytes - (bytes % blockSize);
  }

  /** The same in whole blocks of a disk, by which reading costs least. */
  dueOnDisk(to: number): number {
    const bytes = Math.max(0, to - this.md5.bytes);
    return bytes - (bytes % takeBlock);
  }

  /** Fills `into` with what comes next. The caller has its md5 taken in, side by side with that of others. */
  read(io: TakeIo, into: Uint8Array): void {
    const { bytes: at } = this.md5;
    const count = io.readOnce(at, into);
    if (count < into.length) throw new Error(`a take ends at ${at + count}, before ${at + into.length}`);
    this.#sha256.update(into);
  }

  /** Hashes on by itself, at most as much as there is room in `md5`, up to `to`. */
  step(io: TakeIo, { to, md5 }: { to: number; md5: Md5 }): void {
    const into = md5.room(0).subarray(0, this.due(to));
    this.read(io, into);
    md5.take([this.md5], into.length);
  }

  /** Of all bytes up to `size`, in hex, when no whole block is due. Nothing is added afterwards. */
  digest(io: TakeIo, { size, md5 }: { size: number; md5: Md5 }): { md5: string; sha256: string } {
    if (this.#digest) return this.#digest;
    const rest = new Uint8Array(size - this.md5.bytes);
    this.read(io, rest);
    this.#digest = { md5: md5.digest(this.md5, rest), sha256: this.#sha256.digest('hex') };
    return this.#digest;
  }
}
