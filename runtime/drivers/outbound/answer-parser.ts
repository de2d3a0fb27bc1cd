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
export function answerParser(handlers: AnswerHandlers, { isHead }: { isHead: boolean }) {
  let part: Part = 'head';
  /** Bytes of the body, or of the chunk, that are still to come. */
  let left = 0;
  let line = '';
  let headBytes = 0;
  let lineBytes = 0;
  /** Of all chunks: they would make an answer of any size out of a small body. */
  let extensionBytes = 0;
  let interim = 0;
  let canReuse = false;
  let status: { code: number; minor: number } | undefined;
  let headers: Map<string, string> = new Map();
  const trailers = new Map<string, string>();
  let count = 0;
  /** Where the body lies in the bytes that are taken just now: its chunks are moved together, however small they are. */
  let bodyFrom = 0;
  let bodyTo = 0;

  /** Text of the next line without its end, undefined while it is not all there. */
  const takeLine = (bytes: Buffer, at: number): { text: string | undefined; next: number } | undefined => {
    const found = bytes.indexOf(lineFeed, at);
    const end = found < 0 ? bytes.length : found;
    line += bytes.toString('latin1', at, end);
    if (part === 'head') headBytes += end - at + 1;
    else lineBytes += end - at + 1;
    if (headBytes > mostHeadBytes || lineBytes > mostChunkLineBytes) return undefined;
    if (found < 0) return { text: undefined, next: end };
    const text = line;
    line = '';
    if (text.charCodeAt(text.length - 1) !== carriageReturn) return undefined;
    return { text: text.slice(0, -1), next: end + 1 };
  };

  const takeHeadLine = (text: string): string | undefined => {
    if (!status) {
      const match = statusLine.exec(text);
      if (!match) return 'what it sent is not an HTTP/1.1 answer';
      status = { minor: Number(match[1]), code: Number(match[2]) };
      return undefined;
    }
    if (text === '') return endHead(status);
    const match = field.exec(text);
    if (!match) return 'a line of its header is malformed';
    if (++count > mostHeaderLines) return `it sent more than ${mostHeaderLines} header lines`;
    const name = match[1].toLowerCase();
    const before = headers.get(name);
    if (name === 'content-length' && before !== undefined && before !== match[2]) {
      return 'it sent two different lengths';
    }
    if (name === 'set-cookie' || (name === 'content-length' && before !== undefined)) return undefined;
    headers.set(name, before === undefined ? match[2] : `${before}, ${match[2]}`);
    return undefined;
  };

  const endHead = ({ code, minor }: { code: number; minor: number }): string | undefined => {
    if (code < 200) {
      if (code === 101) return 'it wants to switch to another protocol';
      if (++interim > mostInterim) return 'it sends interim answers without end';
      status = undefined;
      headers = new Map();
      handlers.interim?.(code);
      return undefined;
    }
    const encoding = headers.get('transfer-encoding')?.toLowerCase();
    const lengthText = headers.get('content-length');
    if (encoding !== undefined && (encoding !== 'chunked' || minor === 0 || lengthText !== undefined)) {
      return 'where its body ends is ambiguous';
    }
    if (lengthText !== undefined && !/^\d{1,15}$/.test(lengthText)) return 'its length is not a number';
    const connection = (headers.get('connection') ?? '').toLowerCase();
    canReuse = minor === 1 && !/(^|[\s,])close($|[\s,])/.test(connection);
    const isEmpty = isHead || code === 204 || code === 304;
    const length = isEmpty ? 0 : lengthText === undefined ? undefined : Number(lengthText);
    if (isEmpty || length === 0) part = 'done';
    else if (encoding !== undefined) part = 'chunk-size';
    else if (length !== undefined) {
      part = 'length';
      left = length;
    } else {
      part = 'until-close';
      canReuse = false;
    }
    handlers.head({ status: code, headers: Object.fromEntries(headers), length });
    return undefined;
  };

  const beginChunk = (size: number) => {
    left = size;
    part = size === 0 ? 'trailers' : 'chunk';
    lineBytes = 0;
  };

  /**
   * Takes a plain line between chunks: nothing but a size, or nothing. Returns where it ends, or -1 for any other and for one that is
   * not all there, which `takeLine` takes. There may be as many as bytes of a body: no string is made of it.
   */
  const takePlainLine = (bytes: Buffer, at: number): number => {
    let next = at;
    let size = 0;
    if (part === 'chunk-size') {
      for (let digit = hexDigit(bytes[next]); digit >= 0; digit = hexDigit(bytes[next])) {
        size = size * 16 + digit;
        next += 1;
      }
      if (next === at || next - at > sizeDigits) return -1;
    }
    if (bytes[next] !== carriageReturn || bytes[next + 1] !== lineFeed) return -1;
    if (part === 'chunk-size') beginChunk(size);
    else part = 'chunk-size';
    return next + 2;
  };

  const takeLineOf = (text: string): string | undefined => {
    if (part === 'head') return takeHeadLine(text);
    if (part === 'chunk-size') {
      const match = chunkSize.exec(text);
      if (!match) return 'the size of a chunk is malformed';
      extensionBytes += text.length - match[1].length;
      if (extensionBytes > mostChunkLineBytes) return 'the extensions of its chunks are too long';
      beginChunk(Number.parseInt(match[1], 16));
      return undefined;
    }
    if (part === 'chunk-end') {
      if (text !== '') return 'a chunk is longer than it said';
      part = 'chunk-size';
      lineBytes = 0;
      return undefined;
    }
    if (text === '') part = 'done';
    else takeTrailer(text);
    return undefined;
  };

  /** One that is malformed says nothing, and nothing depends on it. */
  const takeTrailer = (text: string) => {
    const match = field.exec(text);
    if (match) trailers.set(match[1].toLowerCase(), match[2]);
  };

  const takeBody = (bytes: Buffer, at: number): number => {
    const until = part === 'until-close' ? bytes.length : Math.min(bytes.length, at + left);
    left -= until - at;
    if (bodyTo === bodyFrom) bodyFrom = bodyTo = at;
    if (bodyTo !== at) bytes.copyWithin(bodyTo, at, until);
    bodyTo += until - at;
    if (part === 'length' && left === 0) part = 'done';
    else if (part === 'chunk' && left === 0) part = 'chunk-end';
    return until;
  };

  const take = (bytes: Buffer): string | undefined => {
    for (let at = 0; at < bytes.length; ) {
      if (part === 'done') {
        canReuse = false;
        return 'it sent more than its answer';
      }
      if (part === 'length' || part === 'until-close' || part === 'chunk') {
        at = takeBody(bytes, at);
        continue;
      }
      if (line === '' && (part === 'chunk-size' || part === 'chunk-end')) {
        const next = takePlainLine(bytes, at);
        if (next >= 0) {
          at = next;
          continue;
        }
      }
      const taken = takeLine(bytes, at);
      if (!taken) {
        if (part === 'head' && headBytes <= mostHeadBytes) return notHttp(status !== undefined);
        return part === 'head'
          ? `its header is larger than ${mostHeadBytes} bytes`
          : 'its chunks are malformed';
      }
      at = taken.next;
      if (taken.text === undefined) continue;
      const wrong = takeLineOf(taken.text);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  };

  return {
    /**
     * Takes bytes, which are the parser's from then on, and calls the handlers. Returns what is wrong with them, or undefined.
     * After the end every further byte is wrong: nobody asked for it.
     */
    push(bytes: Buffer): string | undefined {
      const wrong = take(bytes);
      if (bodyTo > bodyFrom) handlers.body(bytes.subarray(bodyFrom, bodyTo));
      bodyFrom = bodyTo = 0;
      return wrong;
    },
    /** The peer closed. Returns what is wrong with that, or undefined when the answer ends by it. */
    end(): string | undefined {
      if (part === 'until-close') part = 'done';
      if (part === 'done') return undefined;
      return part === 'head' ? 'it closed without an answer' : 'it closed before the end of its answer';
    },
    get isDone() {
      return part === 'done';
    },
    /** Whether the connection can carry another request; known when it is done. */
    get canReuse() {
      return canReuse && part === 'done';
    },
    /** What was sent behind the last chunk (RFC 9110 §6.5), names in lower case; complete when it is done. */
    get trailers(): Readonly<Record<string, string>> {
      return Object.fromEntries(trailers);
    },
  };
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
