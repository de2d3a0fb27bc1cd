/** Bytes of status lines and headers of one answer, with its 1xx answers. */
const mostHeadBytes = 32 * 1024;
const mostHeaderLines = 128;
/** 1xx answers before the final one. */
const mostInterim = 8;
/** Bytes of a chunk's size line, of the extensions of all chunks together, and of all trailers together. */
const mostChunkLineBytes = 4 * 1024;

export interface AnswerHandlers {
  /** 100 to 199, before the head. */
  interim?(status: number): void;
  head(head: AnswerHead): void;
  /** All bytes of the body that were in what was pushed, as a part of that. They are the handler's. */
  body(bytes: Buffer): void;
}

export interface AnswerHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly length: number | undefined;
}

type Part = 'head' | 'length' | 'until-close' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailers' | 'done';

const statusLine = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const field = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[\t ]*([\t\x20-\x7e\x80-\xff]*?)[\t ]*$/;
/** Beyond 12 digits no body could be. */
const sizeDigits = 12;
const chunkSize = /^([0-9a-fA-F]{1,12})[\t ]*(?:;.*)?$/;
const carriageReturn = 13;
const lineFeed = 10;

/**
 * Reads one HTTP/1.1 answer as its bytes arrive (RFC 9112). Strict where leniency has been used for attacks: lines end in CRLF, no folded lines, no second Content-Length, no
 * Content-Length beside Transfer-Encoding, no encoding but chunked, no upgrade.
 */
export class AnswerParser {
  readonly #handlers: AnswerHandlers;
  readonly #isHead: boolean;
  #part: Part = 'head';
  /** Bytes of the body, or of the chunk, that are still to come. */
  #left = 0;
  #line = '';
  #headBytes = 0;
  #lineBytes = 0;
  /** Of all chunks: they would make an answer of any size out of a small body. */
  #extensionBytes = 0;
  #interim = 0;
  #canReuse = false;
  #status: { code: number; minor: number } | undefined;
  #headers = new Map<string, string>();
  readonly #trailers = new Map<string, string>();
  #count = 0;
  /** Where the body lies in the bytes that are taken just now: its chunks are moved together, however small they are. */
  #bodyFrom = 0;
  #bodyTo = 0;

  constructor(handlers: AnswerHandlers, { isHead }: { isHead: boolean }) {
    this.#handlers = handlers;
    this.#isHead = isHead;
  }

  /**
   * Takes bytes, which are the parser's from then on, and calls the handlers. Returns what is wrong with them, or undefined.
   * After the end every further byte is wrong: nobody asked for it.
   */
  push(bytes: Buffer): string | undefined {
    const wrong = this.#take(bytes);
    if (this.#bodyTo > this.#bodyFrom) this.#handlers.body(bytes.subarray(this.#bodyFrom, this.#bodyTo));
    this.#bodyFrom = this.#bodyTo = 0;
    return wrong;
  }

  /** The peer closed. Returns what is wrong with that, or undefined when the answer ends by it. */
  end(): string | undefined {
    if (this.#part === 'until-close') this.#part = 'done';
    if (this.#part === 'done') return undefined;
    return this.#part === 'head' ? 'it closed without an answer' : 'it closed before the end of its answer';
  }

  get isDone(): boolean {
    return this.#part === 'done';
  }

  /** Whether the connection can carry another request; known when it is done. */
  get canReuse(): boolean {
    return this.#canReuse && this.#part === 'done';
  }

  /** What was sent behind the last chunk (RFC 9110 §6.5), names in lower case; complete when it is done. */
  get trailers(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#trailers);
  }

  /** Text of the next line without its end, undefined while it is not all there. */
  #takeLine(bytes: Buffer, at: number): { text: string | undefined; next: number } | undefined {
    const found = bytes.indexOf(lineFeed, at);
    const end = found < 0 ? bytes.length : found;
    this.#line += bytes.toString('latin1', at, end);
    if (this.#part === 'head') this.#headBytes += end - at + 1;
    else this.#lineBytes += end - at + 1;
    if (this.#headBytes > mostHeadBytes || this.#lineBytes > mostChunkLineBytes) return undefined;
    if (found < 0) return { text: undefined, next: end };
    const text = this.#line;
    this.#line = '';
    if (text.charCodeAt(text.length - 1) !== carriageReturn) return undefined;
    return { text: text.slice(0, -1), next: end + 1 };
  }

  #takeHeadLine(text: string): string | undefined {
    if (!this.#status) {
      const match = statusLine.exec(text);
      if (!match) return 'what it sent is not an HTTP/1.1 answer';
      this.#status = { minor: Number(match[1]), code: Number(match[2]) };
      return undefined;
    }
    if (text === '') return this.#endHead(this.#status);
    const match = field.exec(text);
    if (!match) return 'a line of its header is malformed';
    if (++this.#count > mostHeaderLines) return `it sent more than ${mostHeaderLines} header lines`;
    const name = match[1].toLowerCase();
    const before = this.#headers.get(name);
    if (name === 'content-length' && before !== undefined && before !== match[2]) {
      return 'it sent two different lengths';
    }
    if (name === 'set-cookie' || (name === 'content-length' && before !== undefined)) return undefined;
    this.#headers.set(name, before === undefined ? match[2] : `${before}, ${match[2]}`);
    return undefined;
  }

  #endHead({ code, minor }: { code: number; minor: number }): string | undefined {
    if (code < 200) {
      if (code === 101) return 'it wants to switch to another protocol';
      if (++this.#interim > mostInterim) return 'it sends interim answers without end';
      this.#status = undefined;
      this.#headers = new Map();
      this.#handlers.interim?.(code);
      return undefined;
    }
    const encoding = this.#headers.get('transfer-encoding')?.toLowerCase();
    const lengthText = this.#headers.get('content-length');
    if (encoding !== undefined && (encoding !== 'chunked' || minor === 0 || lengthText !== undefined)) {
      return 'where its body ends is ambiguous';
    }
    if (lengthText !== undefined && !/^\d{1,15}$/.test(lengthText)) return 'its length is not a number';
    const connection = (this.#headers.get('connection') ?? '').toLowerCase();
    this.#canReuse = minor === 1 && !/(^|[\s,])close($|[\s,])/.test(connection);
    const isEmpty = this.#isHead || code === 204 || code === 304;
    const length = isEmpty ? 0 : lengthText === undefined ? undefined : Number(lengthText);
    if (isEmpty || length === 0) this.#part = 'done';
    else if (encoding !== undefined) this.#part = 'chunk-size';
    else if (length !== undefined) {
      this.#part = 'length';
      this.#left = length;
    } else {
      this.#part = 'until-close';
      this.#canReuse = false;
    }
    this.#handlers.head({ status: code, headers: Object.fromEntries(this.#headers), length });
    return undefined;
  }

  #beginChunk(size: number): void {
    this.#left = size;
    this.#part = size === 0 ? 'trailers' : 'chunk';
    this.#lineBytes = 0;
  }

  /**
   * Takes a plain line between chunks: nothing but a size, or nothing. Returns where it ends, or -1 for any other and for one that is
   * not all there, which `takeLine` takes. There may be as many as bytes of a body: no string is made of it.
   */
  #takePlainLine(bytes: Buffer, at: number): number {
    let next = at;
    let size = 0;
    if (this.#part === 'chunk-size') {
      for (let digit = hexDigit(bytes[next]); digit >= 0; digit = hexDigit(bytes[next])) {
        size = size * 16 + digit;
        next += 1;
      }
      if (next === at || next - at > sizeDigits) return -1;
    }
    if (bytes[next] !== carriageReturn || bytes[next + 1] !== lineFeed) return -1;
    if (this.#part === 'chunk-size') this.#beginChunk(size);
    else this.#part = 'chunk-size';
    return next + 2;
  }

  #takeLineOf(text: string): string | undefined {
    if (this.#part === 'head') return this.#takeHeadLine(text);
    if (this.#part === 'chunk-size') {
      const match = chunkSize.exec(text);
      if (!match) return 'the size of a chunk is malformed';
      this.#extensionBytes += text.length - match[1].length;
      if (this.#extensionBytes > mostChunkLineBytes) return 'the extensions of its chunks are too long';
      this.#beginChunk(Number.parseInt(match[1], 16));
      return undefined;
    }
    if (this.#part === 'chunk-end') {
      if (text !== '') return 'a chunk is longer than it said';
      this.#part = 'chunk-size';
      this.#lineBytes = 0;
      return undefined;
    }
    if (text === '') this.#part = 'done';
    else this.#takeTrailer(text);
    return undefined;
  }

  /** One that is malformed says nothing, and nothing depends on it. */
  #takeTrailer(text: string): void {
    const match = field.exec(text);
    if (match) this.#trailers.set(match[1].toLowerCase(), match[2]);
  }

  #takeBody(bytes: Buffer, at: number): number {
    const until = this.#part === 'until-close' ? bytes.length : Math.min(bytes.length, at + this.#left);
    this.#left -= until - at;
    if (this.#bodyTo === this.#bodyFrom) this.#bodyFrom = this.#bodyTo = at;
    if (this.#bodyTo !== at) bytes.copyWithin(this.#bodyTo, at, until);
    this.#bodyTo += until - at;
    if (this.#part === 'length' && this.#left === 0) this.#part = 'done';
    else if (this.#part === 'chunk' && this.#left === 0) this.#part = 'chunk-end';
    return until;
  }

  #take(bytes: Buffer): string | undefined {
    for (let at = 0; at < bytes.length; ) {
      if (this.#part === 'done') {
        this.#canReuse = false;
        return 'it sent more than its answer';
      }
      if (this.#part === 'length' || this.#part === 'until-close' || this.#part === 'chunk') {
        at = this.#takeBody(bytes, at);
        continue;
      }
      if (this.#line === '' && (this.#part === 'chunk-size' || this.#part === 'chunk-end')) {
        const next = this.#takePlainLine(bytes, at);
        if (next >= 0) {
          at = next;
          continue;
        }
      }
      const taken = this.#takeLine(bytes, at);
      if (!taken) {
        if (this.#part === 'head' && this.#headBytes <= mostHeadBytes)
          return notHttp(this.#status !== undefined);
        return this.#part === 'head'
          ? `its header is larger than ${mostHeadBytes} bytes`
          : 'its chunks are malformed';
      }
      at = taken.next;
      if (taken.text === undefined) continue;
      const wrong = this.#takeLineOf(taken.text);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  }
}

function notHttp(hasStatus: boolean): string {
  return hasStatus ? 'a line of its header is malformed' : 'what it sent is not an HTTP/1.1 answer';
}

/** -1 for what is none; also for undefined, behind the last byte. */
function hexDigit(byte: number | undefined): number {
  if (byte === undefined) return -1;
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
