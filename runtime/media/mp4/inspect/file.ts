import { Refusal, typeAt } from './boxes.ts';

/** Bytes read at once while looking for boxes: most headers lie together. */
export const readAhead = 16_384;
/** Most boxes of a file, side by side. */
const maxFileBoxes = 250_000;

/** A file that is read in pieces. */
export interface ReadableFile {
  readonly size: number;
  /** Exactly the bytes `from` up to `to`, as memory of the caller's own. */
  read(from: number, to: number): Promise<Uint8Array>;
}

/** Reads a file slightly ahead, so that headers close together take one read. */
export class FileWindow {
  readonly #file: ReadableFile;
  readonly #ahead: number;
  #bytes: Uint8Array = new Uint8Array(0);
  #from = 0;

  /** @param options.ahead bytes that are read at once, at least */
  constructor(file: ReadableFile, { ahead = readAhead }: { ahead?: number } = {}) {
    this.#file = file;
    this.#ahead = ahead;
  }

  get size(): number {
    return this.#file.size;
  }

  /** The bytes `from` up to `to`, which must lie in the file. Valid until the next call. */
  async view(from: number, to: number): Promise<DataView> {
    if (!this.#has(from, to)) {
      const end = Math.min(this.size, Math.max(to, from + this.#ahead));
      this.#bytes = await this.#read(from, end);
      this.#from = from;
    }
    return new DataView(
      this.#bytes.buffer as ArrayBuffer,
      this.#bytes.byteOffset + from - this.#from,
      to - from,
    );
  }

  /** The same bytes, copied: they keep no other memory alive. */
  async copy(from: number, to: number): Promise<DataView> {
    if (!this.#has(from, to) && to - from > this.#ahead) {
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

/** A top-level box; only its header was read. */
export interface FileBox {
  readonly type: string;
  readonly at: number;
  /** Its payload. */
  readonly from: number;
  readonly to: number;
}

/** Behind the film, anything else may follow: some cameras and taggers append bytes that are not a box. */
const filmBoxes = ['ftyp', 'moov', 'moof', 'mdat'];

/**
 * The top-level boxes of a file in order. The last may have size 0, "to the end of the file" (ISO/IEC 14496-12 4.2.2). Throws
 * Refusal for a size that is impossible or beyond the end of the file.
 */
export async function* fileBoxes(window: FileWindow): AsyncGenerator<FileBox> {
  const { size: end } = window;
  let hasMovie = false;
  let at = 0;
  for (let count = 0; end - at >= 8; count += 1) {
    if (count >= maxFileBoxes) throw new Refusal(`it has more than ${maxFileBoxes} boxes`);
    const head = await window.view(at, Math.min(at + 16, end));
    const type = typeAt(head, 4);
    let size = head.getUint32(0);
    let header = 8;
    if (size === 0) size = end - at;
    if (size === 1 && head.byteLength === 16) {
      size = head.getUint32(8) * 0x100000000 + head.getUint32(12);
      header = 16;
    }
    if (size < header || at + size > end) {
      if (hasMovie && !filmBoxes.includes(type)) return;
      if (size < header) throw new Refusal(`the ${type} box at byte ${at} has the impossible size ${size}`);
      throw new Refusal(
        `it is cut off: the ${type} box at byte ${at} has ${size} bytes, and the file ends after ${end - at} of them`,
      );
    }
    yield { type, at, from: at + header, to: at + size };
    hasMovie ||= type === 'moov';
    at += size;
  }
}
