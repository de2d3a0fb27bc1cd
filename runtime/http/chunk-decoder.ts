/** A chunk's size line with its extensions, or a line of the trailer; all of them together are bounded by `maxLines`. */
const maxLine = 1024;
/** Lines that carry nothing, in one body: a client could send them for ever. */
const maxTrailer = 8192;

/** Reads a body in chunks (RFC 9112 §7.1), strictly. Extensions and trailers are passed over. */
export class ChunkDecoder {
  /** Bytes of the chunk that are still to come. */
  #left = 0;
  #line = '';
  #state: 'size' | 'data' | 'end of data' | 'trailer' = 'size';
  #trailer = 0;

  /**
   * Takes what came. `consumed`: bytes that belong to the body, fewer than came where it ended before. Undefined: it is no
   * valid chunk.
   */
  take(bytes: Uint8Array): { pieces: Uint8Array[]; consumed: number; isDone: boolean } | undefined {
    const pieces: Uint8Array[] = [];
    let at = 0;
    while (at < bytes.length) {
      if (this.#state === 'data') {
        const piece = bytes.subarray(at, at + this.#left);
        pieces.push(piece);
        at += piece.length;
        this.#left -= piece.length;
        if (this.#left === 0) this.#state = 'end of data';
        continue;
      }
      const line = this.#lineOf(bytes, at);
      if (line === undefined) return undefined;
      at = line.end;
      if (line.text === undefined) break;
      const outcome = this.#read(line.text);
      if (outcome === 'wrong') return undefined;
      if (outcome === 'done') return { pieces, consumed: at, isDone: true };
    }
    return { pieces, consumed: at, isDone: false };
  }

  #read(line: string): 'done' | 'wrong' | 'more' {
    switch (this.#state) {
      case 'size': {
        const size = /^([0-9a-f]{1,8})(?:[\t ]*;[\t -~]*)?$/i.exec(line)?.[1];
        if (size === undefined) return 'wrong';
        this.#left = Number.parseInt(size, 16);
        this.#state = this.#left === 0 ? 'trailer' : 'data';
        return 'more';
      }
      case 'end of data':
        this.#state = 'size';
        return line === '' ? 'more' : 'wrong';
      default:
        if (line === '') return 'done';
        this.#trailer += line.length;
        return this.#trailer > maxTrailer || !/^[!#$%&'*+.^_`|~\w-]+:[\t -~\x80-\xff]*$/.test(line)
          ? 'wrong'
          : 'more';
    }
  }

  /** The line that ends here, without CR LF; no text where it goes on in what comes next. Undefined: it is too long. */
  #lineOf(bytes: Uint8Array, from: number): { text?: string; end: number } | undefined {
    const lf = bytes.indexOf(10, from);
    const end = lf < 0 ? bytes.length : lf + 1;
    if (this.#line.length + end - from > maxLine) return undefined;
    this.#line += String.fromCharCode(...bytes.subarray(from, end));
    if (lf < 0) return { end };
    const line = this.#line;
    this.#line = '';
    // A bare LF ends no line.
    return line.endsWith('\r\n') ? { text: line.slice(0, -2), end } : undefined;
  }
}
