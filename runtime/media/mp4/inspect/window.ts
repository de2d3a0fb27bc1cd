import { inspectionLimits } from './limits.ts';

/** A file that is read piece by piece. */
export interface ReadableFile {
  readonly size: number;
  /** Exactly the bytes `from` up to `to`; they belong to the caller, who may write into them. */
  read(from: number, to: number): Promise<Uint8Array>;
}

/** Bytes of a file that reads a little ahead, so that headers that lie together are one read. */
export class FileWindow {
  readonly #file: ReadableFile;
  #bytes: Uint8Array = new Uint8Array(0);
  #from = 0;

  constructor(file: ReadableFile) {
    this.#file = file;
  }

  get size(): number {
    return this.#file.size;
  }

  /** The bytes `from` up to `to`, which must lie in the file. A view until the next call. */
  async view(from: number, to: number): Promise<DataView> {
    if (!this.#has(from, to)) {
      const end = Math.min(this.size, Math.max(to, from + inspectionLimits.readAhead.value));
      this.#bytes = await this.#read(from, end);
      this.#from = from;
    }
    return new DataView(
      this.#bytes.buffer as ArrayBuffer,
      this.#bytes.byteOffset + from - this.#from,
      to - from,
    );
  }
  /** The same bytes as the caller's own: they keep nothing else in memory. */
  async copy(from: number, to: number): Promise<DataView> {
    if (!this.#has(from, to) && to - from > inspectionLimits.readAhead.value) {
      const { buffer, byteOffset } = await this.#read(from, to);
      return new DataView(buffer as ArrayBuffer, byteOffset, to - from);
    }
    const { buffer, byteOffset } = await this.view(from, to);
    return new DataView(buffer.slice(byteOffset, byteOffset + to - from) as ArrayBuffer);
  }

  #has(from: number, to: number): boolean {
    return from >= this.#from && to <= this.#from + this.#bytes.length;
  }

  async #read(from: number, to: number): Promise<Uint8Array> {
    const bytes = await this.#file.read(from, to);
    if (bytes.length !== to - from)
      throw new Error(`a read of ${to - from} bytes at ${from} gave ${bytes.length}`);
    return bytes;
  }
}
