import { STATUS_CODES } from 'node:http';
import { LentStream } from '../base/lent-stream.ts';

/** Where an answer goes. */
export interface AnswerTarget {
  /** Sends bytes; settles `true` when the client may be sent more, `false` when it has left. */
  write(bytes: Uint8Array): Promise<boolean> | boolean;
  /** Called when the client leaves, so that a source which is waited for is let go. */
  onLeft: () => void;
}

export interface AnswerOptions {
  readonly target: AnswerTarget;
  readonly isHead: boolean;
  readonly isHttp10: boolean;
  /** The connection closes after this answer, and the answer says so. */
  readonly isLast: boolean;
}

/** Bytes of a body that is copied behind its head, so that both are one packet; to copy more costs more than a second call. */
const longestInOne = 16_384;

/** Bytes are what their type says, whatever they look like: a file of a user must not become a script. */
const nosniff = 'x-content-type-options: nosniff\r\n';
/** No page shows this one in a frame. Pages that may be framed say so. Beside another policy both hold (CSP Level 3 §8.1). */
const noFrames = "content-security-policy: frame-ancestors 'none'\r\n";

/**
 * Writes a Response as HTTP/1.1. Resolves `true` when the answer is whole; otherwise the connection must be broken, so that no
 * client takes a part for the whole. Every answer has `nosniff` and `frame-ancestors`. How a body is sent, its headers say, as they would on the wire:
 *
 * - `Content-Length`: so many bytes, read as fast as the client takes them. Less or more of them break the connection.
 * - `Transfer-Encoding: chunked`, or an event stream: in chunks, each as soon as it is there.
 * - neither: the body is taken into memory first, and its length is that.
 */
export async function writeAnswer(answer: Response, options: AnswerOptions): Promise<boolean> {
  const { target, isHead, isHttp10, isLast } = options;
  const { status } = answer;
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
  let length: number | undefined;
  let isStreamed = false;
  let [saysType, saysFrames] = [false, false];
  answer.headers.forEach((value, name) => {
    if (name === 'content-length') length = Number(value);
    if (name === 'transfer-encoding' || (name === 'content-type' && value === 'text/event-stream'))
      isStreamed = true;
    if (name === 'x-content-type-options') saysType = true;
    if (name === 'content-security-policy' && value.includes('frame-ancestors')) saysFrames = true;
    // What HEAD says of the length, the body would have had.
    if (!own.has(name) || (isHead && name === 'content-length')) text += `${name}: ${value}\r\n`;
  });
  if (!saysType) text += nosniff;
  if (!saysFrames) text += noFrames;
  text += `date: ${dateNow()}\r\n`;
  if (isLast) text += 'connection: close\r\n';
  const headWith = (framing: string) => Buffer.from(`${text}${framing}\r\n`, 'latin1');

  if (isHead || status === 204 || status === 304) {
    void answer.body?.cancel().catch(() => {});
    return target.write(headWith(''));
  }
  if (length === undefined && !isStreamed) {
    const body = await answer.bytes().catch(() => undefined);
    if (body === undefined) return false;
    const head = headWith(`content-length: ${body.length}\r\n`);
    if (body.length <= longestInOne) return target.write(Buffer.concat([head, body]));
    return (await target.write(head)) && target.write(body);
  }
  if (answer.body === null) return target.write(headWith('content-length: 0\r\n'));
  if (length !== undefined) {
    const head = headWith(`content-length: ${length}\r\n`);
    return writeStream(answer.body, { target, head, length, isChunked: false });
  }
  const head = headWith(isHttp10 ? '' : 'transfer-encoding: chunked\r\n');
  return writeStream(answer.body, { target, head, length, isChunked: !isHttp10 });
}

/** Headers that belong to the connection, which are ours to write. */
const own = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length']);

async function writeStream(
  body: ReadableStream<Uint8Array>,
  options: { target: AnswerTarget; head: Buffer; length: number | undefined; isChunked: boolean },
): Promise<boolean> {
  const { target, head, length, isChunked } = options;
  const reader = readerOf(body);
  // A source that is waited for is let go when the client leaves, and one that is not read to its end always.
  target.onLeft = () => reader.end();
  try {
    let left = length ?? Number.POSITIVE_INFINITY;
    if (!(await target.write(head))) return false;
    while (left > 0) {
      const value = await reader.read();
      if (value === undefined) break;
      if (value.length > left) return false;
      left -= value.length;
      if (value.length > 0 && !(await target.write(isChunked ? chunkOf(value) : value))) return false;
    }
    if (length !== undefined) return left === 0;
    return !isChunked || target.write(Buffer.from('0\r\n\r\n'));
  } catch {
    // The source failed, and has said why in the log; the client sees the connection break.
    return false;
  } finally {
    target.onLeft = () => {};
    reader.end();
  }
}

interface BodyReader {
  /** The next piece, good until the next call. Undefined: that was all. */
  read(): Promise<Uint8Array | undefined> | Uint8Array | undefined;
  /** The rest is not read. */
  end(): void;
}

function readerOf(body: ReadableStream<Uint8Array>): BodyReader {
  if (body instanceof LentStream) {
    const { lender } = body;
    return { read: () => lender.next(), end: () => lender.end() };
  }
  const reader = body.getReader();
  return {
    read: async () => (await reader.read()).value,
    end: () => void reader.cancel().catch(() => {}),
  };
}

function chunkOf(bytes: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
}

let [dateSecond, dateText] = [0, ''];
/** The date of an answer (RFC 9110 §6.6.1), made once a second. */
function dateNow(): string {
  const second = Math.floor(Date.now() / 1000);
  if (second !== dateSecond) [dateSecond, dateText] = [second, new Date(second * 1000).toUTCString()];
  return dateText;
}
