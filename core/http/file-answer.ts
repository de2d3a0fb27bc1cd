import { Fault } from '../base/fault.ts';
import type { Blobs } from '../ports/blobs.ts';
import { contentDisposition } from './file-name.ts';
import { faultResponse } from './http.ts';
import { mayBeRange, preconditions } from './preconditions.ts';

/** Seconds that caches may answer with a file without asking whether it is still there. */
const fileAge = 3600;

/** A file as clients see it, made of bytes of blobs one behind the other. Its bytes never change under one etag. */
export interface AnsweredFile {
  readonly pieces: readonly FilePiece[];
  /** Strong, without its quotes. */
  readonly etag: string;
  /** Epoch ms, where it is known. */
  readonly modified?: number;
  /** Media type. */
  readonly type: string;
  /** What it is saved as, hostile or not; the ending comes with the type. */
  readonly name: string;
  readonly ending: string;
}

/** Bytes `from` up to `to` of a blob; `to` is not part of it. */
export interface FilePiece {
  readonly key: string;
  readonly from: number;
  readonly to: number;
}

/** Codes of what a file is answered with beside itself. */
export const fileFaults = [
  ...['file.changed', 'file.beyond'],
  ...['blobs.unavailable', 'blobs.denied', 'blobs.busy', 'blobs.closed'],
] as const;

/**
 * Answers a GET or HEAD of a file, with ranges and preconditions (RFC 9110 §13, §14): 200, 206, 304, 412 or 416. Undefined: a
 * blob of it is not there. A HEAD reads nothing. The body is read as fast as the client takes it and no further
 * ahead than the blob store reads; a client that goes away ends the reading. A body that cannot be read to its end breaks the
 * connection, so that no client takes a part for the whole. Every answer has its `Content-Length`, which `runtime/http` sends.
 */
export async function fileAnswer(
  request: Request,
  { file, blobs }: { file: AnsweredFile; blobs: Pick<Blobs, 'get'> },
): Promise<Response | undefined> {
  const size = file.pieces.reduce((sum, { from, to }) => sum + to - from, 0);
  const headers = headersOf(file);
  const isHead = request.method === 'HEAD';
  switch (preconditions(request.headers, file)) {
    case 'failed':
      return refusal('file.changed', {
        status: 412,
        message: 'The file is not the version that was asked for.',
      });
    case 'unchanged':
      return bare(304, { headers: new Headers(validatorsOf(file)), ...(isHead && { size }) });
    default:
  }
  const asked = !isHead && mayBeRange(request.headers, file) ? request.headers.get('range') : null;
  const range = byteRange(asked, size);
  if (range === 'beyond') {
    const message = `Range: the file has ${size} bytes, and none of them is in it.`;
    return refusal('file.beyond', { status: 416, message, headers: { 'content-range': `bytes */${size}` } });
  }
  const { from, to } = range === 'whole' ? { from: 0, to: size } : range;
  if (range !== 'whole') headers.set('content-range', `bytes ${from}-${to - 1}/${size}`);
  const status = range === 'whole' ? 200 : 206;
  if (isHead || from === to) return bare(status, { headers, size: to - from });
  const body = await bodyOf(part(file.pieces, { from, to }), { blobs, signal: request.signal });
  if (body === undefined) return undefined;
  headers.set('content-length', String(to - from));
  return new Response(body, { status, headers });
}

/** Bytes `from` up to `to` of the pieces put one behind the other, in memory; undefined where a blob of them is not there. */
export async function readPieces(
  pieces: readonly FilePiece[],
  options: { from: number; to: number; blobs: Pick<Blobs, 'get'>; signal: AbortSignal },
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (options.from >= options.to) return new Uint8Array(0);
  const body = await bodyOf(part(pieces, options), options);
  return body && (await new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>).bytes());
}

function headersOf(file: AnsweredFile): Headers {
  const { type, name, ending } = file;
  return new Headers({
    ...validatorsOf(file),
    'content-type': type,
    'content-disposition': contentDisposition(name, { ending }),
    'accept-ranges': 'bytes',
    'x-content-type-options': 'nosniff',
  });
}

function validatorsOf({ etag, modified }: AnsweredFile): Record<string, string> {
  return {
    etag: `"${etag}"`,
    ...(modified !== undefined && { 'last-modified': new Date(modified).toUTCString() }),
    'cache-control': `public, max-age=${fileAge}`,
  };
}

/**
 * An answer without its body, which would have `size` bytes (RFC 9110 §8.6). Elysia 1.4 answers a HEAD by what the handler of
 * GET answers, reads its `body` to the end and sets `Content-Length` to what it has counted: what it finds here is a length.
 */
function bare(status: number, { headers, size = 0 }: { headers: Headers; size?: number }): Response {
  if (status !== 304 || size > 0) headers.set('content-length', String(size));
  const answer = new Response(null, { status, headers });
  if (size === 0) return answer;
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue({ byteLength: size });
      controller.close();
    },
  });
  return Object.defineProperty(answer, 'body', { value: body });
}

function refusal(
  code: string,
  { headers, ...fault }: { status: number; message: string; headers?: Record<string, string> },
): Response {
  return faultResponse(new Fault(code, fault), { 'cache-control': 'no-store', ...headers });
}

/** The pieces of a part of the file. */
function part(pieces: readonly FilePiece[], { from, to }: { from: number; to: number }): FilePiece[] {
  let at = 0;
  return pieces.flatMap((piece) => {
    const start = at;
    at += piece.to - piece.from;
    const own = { from: Math.max(from, start), to: Math.min(to, at) };
    if (own.from >= own.to) return [];
    return { key: piece.key, from: piece.from + own.from - start, to: piece.from + own.to - start };
  });
}

/** Of the Streams standard; the types of Bun lack it. */
const streamOf = ReadableStream as unknown as {
  from(pieces: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array>;
};

/** The bytes of the pieces, the first of which is opened at once: undefined when it is not there. */
async function bodyOf(
  [first, ...others]: readonly FilePiece[],
  { blobs, signal }: { blobs: Pick<Blobs, 'get'>; signal: AbortSignal },
): Promise<ReadableStream<Uint8Array> | undefined> {
  const open = async ({ key, from, to }: FilePiece) => {
    const found = await blobs.get(key, { range: { from, to }, signal });
    if (found.outcome === 'absent') return undefined;
    if (found.outcome === 'ok' && found.to === to) return found.body;
    if (found.outcome === 'ok') await found.body.cancel();
    throw new Fault('blobs.unavailable', { status: 503, message: `${key} is shorter than it was.` });
  };
  const body = first && (await open(first));
  if (body === undefined || others.length === 0) return body;
  async function* inTurn(begun: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
    yield* begun;
    for (const next of others) {
      const more = await open(next);
      if (!more) throw new Fault('blobs.unavailable', { status: 503, message: `${next.key} is gone.` });
      yield* more;
    }
  }
  // Reads nothing ahead, and ends the stream that is being read when it is cancelled.
  return streamOf.from(inTurn(body));
}

/** Bytes `from` up to `to`, which is not part of it. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/**
 * What a `Range` header means for a file of `size` bytes (RFC 9110 §14.1.2, §14.2). `whole`: there is none, or it is one
 * that a server may pass over: of another unit, malformed, or several ranges at once, for which the whole is as good an answer.
 * `beyond`: no byte of the file is in it (416).
 */
export function byteRange(header: string | null, size: number): ByteRange | 'whole' | 'beyond' {
  const [, first, last] = shape.exec(header ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return 'whole';
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'beyond' : { from: size - length, to: size };
  }
  const from = Number(first);
  if (last !== '' && Number(last) < from) return 'whole';
  if (from >= size) return 'beyond';
  return { from, to: last === '' ? size : Math.min(size, Number(last) + 1) };
}

/** One range of bytes; the name of the unit is of any case. */
const shape = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i;
