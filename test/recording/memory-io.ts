import type { FileIo } from '../../runtime/media/recording/thread/file-io.ts';

/** A file in memory that can fail, and counts what it is asked. */
export class MemoryIo implements FileIo {
  #bytes = new Uint8Array(1024);
  size = 0;
  reads = 0;
  /** Bytes. */
  written = 0;
  /** Bytes that may still be written before the disk is full; a write that does not fit is torn. */
  room = Number.POSITIVE_INFINITY;
  /** Below it nothing may be changed. */
  fixed = 0;

  constructor(bytes?: Uint8Array) {
    if (bytes !== undefined) this.write(0, bytes);
  }

  get bytes(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(0, this.size);
  }

  read(at: number, into: Uint8Array): number {
    this.reads += 1;
    const found = this.#bytes.subarray(Math.min(at, this.size), Math.min(at + into.length, this.size));
    into.set(found);
    return found.length;
  }

  write(at: number, bytes: Uint8Array): void {
    if (at < this.fixed) throw new Error(`a write at ${at} into what never changes`);
    const taken = bytes.subarray(0, Math.min(bytes.length, this.room));
    this.room -= taken.length;
    this.written += taken.length;
    const end = at + taken.length;
    if (end > this.#bytes.length) {
      const grown = new Uint8Array(end * 2);
      grown.set(this.#bytes.subarray(0, this.size));
      this.#bytes = grown;
    }
    this.#bytes.set(taken, at);
    this.size = Math.max(this.size, end);
    if (taken.length < bytes.length) throw new Error('ENOSPC: no space left on device');
  }

  truncate(size: number): void {
    if (size < this.fixed) throw new Error(`a cut at ${size} into what never changes`);
    this.#bytes.fill(0, size, this.size);
    this.size = size;
  }
}
