import { createHash } from 'node:crypto';

/** md5 and sha256 of a file whose bytes come one behind the other. */
export class FileHash {
  /** Bytes hashed so far. */
  size = 0;
  readonly #md5 = createHash('md5');
  readonly #sha256 = createHash('sha256');

  update(bytes: Uint8Array): void {
    this.#md5.update(bytes);
    this.#sha256.update(bytes);
    this.size += bytes.length;
  }

  /** Of all bytes so far, in hex. */
  digest(): { md5: string; sha256: string } {
    return { md5: this.#md5.copy().digest('hex'), sha256: this.#sha256.copy().digest('hex') };
  }
}
