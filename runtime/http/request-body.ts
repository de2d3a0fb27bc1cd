import type { BodyFraming } from './request-head.ts';

/** Bytes of a body that may wait to be read; beyond them the client has to wait. */
const mostWaiting = 262_144;

interface BodyOptions {
  readonly framing: BodyFraming;
  /** Called when all of it has come. */
  onComplete(): void;
  /** Called when it is read for the first time. */
  onRead(): void;
  /** Whether the socket should be read: not while too much waits here. */
  onFlow(isOpen: boolean): void;
}

/** The body of a request on its way in: `take` what comes from the socket, `stream` it to the handler as fast as that reads. */
export class RequestBody {
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** All of it has come. */
  isComplete = false;
  readonly #options: BodyOptions;
  readonly #decoder: ChunkDecoder | undefined;
  /** Bytes of it that have come. */
  received = 0;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #isRead = false;
  #isDropped = false;
  #failure: Error | undefined;
  #wake = () => {};

  constructor(options: BodyOptions) {
    this.#options = options;
    this.#decoder = options.framing === 'chunked' ? new ChunkDecoder() : undefined;
    this.stream = new ReadableStream(
      { pull: (controller) => this.#pull(controller), cancel: () => this.drop() },
      { highWaterMark: 0 },
    );
  }

  /** Takes what came and says how many bytes of it belong to the body. Undefined: it is no valid chunk. */
  take(bytes: Uint8Array): number | undefined {
    const taken = this.#decoder ? this.#decoder.take(bytes) : this.#counted(bytes);
    if (taken === undefined) return undefined;
    const { piece } = taken;
    this.received += piece.length;
    if (!this.#isDropped && piece.length > 0) {
      this.#waiting.push(piece);
      this.#waitingBytes += piece.length;
    }
    this.isComplete = taken.isDone;
    if (taken.isDone) this.#options.onComplete();
    if (this.#waitingBytes > mostWaiting) this.#options.onFlow(false);
    this.#wake();
    return taken.consumed;
  }

  /** The client left, or its body is malformed: reading it fails. */
  fail(error: Error): void {
    if (this.isComplete) return;
    this.#failure ??= error;
    this.#wake();
  }

  /** It is not read any more: the rest is discarded. */
  drop(): void {
    this.#isDropped = true;
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#options.onFlow(true);
  }

  #counted(bytes: Uint8Array) {
    const size = this.#options.framing as number;
    const piece = bytes.subarray(0, size - this.received);
    return {
      piece,
      consumed: piece.length,
      isDone: this.received + piece.length === size,
    };
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>): Promise<void> {
    if (!this.#isRead) {
      this.#isRead = true;
      this.#options.onRead();
    }
    for (;;) {
      if (this.#waiting.length > 0) {
        const piece = joined(this.#waiting);
        this.#waiting = [];
        this.#waitingBytes = 0;
        this.#options.onFlow(true);
        return controller.enqueue(piece as Uint8Array<ArrayBuffer>);
      }
      if (this.isComplete) return controller.close();
      if (this.#failure) return controller.error(this.#failure);
      if (this.#isDropped) return;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  return pieces.length === 1 ? pieces[0] : Buffer.concat(pieces);
}

/** A chunk's size line with its extensions, or a line of the trailer; all of them together are bounded by `maxLines`. */
const maxLine = 1024;
/** Lines that carry nothing, in one body: a client could send them for ever. */
const maxTrailer = 8192;
/** Digits of the size of a chunk. */
const sizeDigits = 8;

/** Reads a body in chunks (RFC 9112 §7.1), strictly. Extensions and trailers are passed over. */
class ChunkDecoder {
  /** Bytes of the chunk that are still to come. */
  #left = 0;
  #line = '';
  #state: 'size' | 'data' | 'end of data' | 'trailer' = 'size';
  #trailer = 0;

  /**
   * Takes what came. `consumed`: bytes that belong to the body, fewer than came where it ended before. Undefined: it is no
   * valid chunk.
   */
  take(bytes: Uint8Array): { piece: Uint8Array; consumed: number; isDone: boolean } | undefined {
    // The data are moved together where they lie, however small the chunks are: each piece would cost more than its bytes.
    let from = 0;
    let to = 0;
    let at = 0;
    while (at < bytes.length) {
      if (this.#state === 'data') {
        const end = Math.min(bytes.length, at + this.#left);
        if (to === from) from = to = at;
        else bytes.copyWithin(to, at, end);
        to += end - at;
        this.#left -= end - at;
        at = end;
        if (this.#left === 0) this.#state = 'end of data';
        continue;
      }
      const next = this.#plainLine(bytes, at);
      if (next > at) {
        at = next;
        continue;
      }
      const line = this.#lineOf(bytes, at);
      if (line === undefined) return undefined;
      at = line.end;
      if (line.text === undefined) break;
      const outcome = this.#read(line.text);
      if (outcome === 'wrong') return undefined;
      if (outcome === 'done') return { piece: bytes.subarray(from, to), consumed: at, isDone: true };
    }
    return { piece: bytes.subarray(from, to), consumed: at, isDone: false };
  }

  /**
   * Where a line ends that is all there and holds nothing but the size of a chunk that has bytes, or nothing behind one. Otherwise
   * `from`. There may be as many as bytes of the body: no string is made of it.
   */
  #plainLine(bytes: Uint8Array, from: number): number {
    if (this.#line !== '' || this.#state === 'trailer') return from;
    let at = from;
    let size = 0;
    if (this.#state === 'size') {
      for (
        let digit = hexDigit(bytes[at]);
        digit >= 0 && at - from < sizeDigits;
        digit = hexDigit(bytes[at])
      ) {
        size = size * 16 + digit;
        at += 1;
      }
      if (size === 0) return from;
    }
    if (bytes[at] !== 13 || bytes[at + 1] !== 10) return from;
    this.#left = size;
    this.#state = this.#state === 'size' ? 'data' : 'size';
    return at + 2;
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

/** -1 for what is none; also for undefined, behind the last byte. */
function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
