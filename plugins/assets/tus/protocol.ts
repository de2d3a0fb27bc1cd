import { Fault } from '../../../core/base/fault.ts';
import { madeOf } from '../../../core/http/fault-causes.ts';
import { faultResponse } from '../../../core/http/http.ts';
import { publicPreflightAge, readableByAll } from '../../../core/http/public-access.ts';
import { lengthOf } from '../uploads/tries.ts';
import { invalid, wrongType, wrongVersion } from './faults.ts';

/** Longest `Upload-Metadata`, characters. */
const mostMetadata = 4096;

/** Headers of tus 1.0.0 (https://tus.io/protocols/resumable-upload), with the extensions that are supported here. */
const version = '1.0.0';
const extensions = 'creation,creation-with-upload,termination,expiration';
const bytesType = 'application/offset+octet-stream';

const ofEveryAnswer = {
  ...readableByAll,
  'access-control-expose-headers':
    'Location, Retry-After, Upload-Offset, Upload-Length, Upload-Expires, Upload-Metadata, Tus-Resumable, Tus-Version, Tus-Extension, Tus-Max-Size',
  'cache-control': 'no-store',
  'tus-resumable': version,
};

/** Adds to an answer or error what tus clients and pages of every origin need to read it. */
export async function asTus(method: string, answer: () => Promise<Response>): Promise<Response> {
  try {
    const response = await answer();
    for (const [name, value] of Object.entries(ofEveryAnswer)) response.headers.set(name, value);
    return response;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const more = { ...ofEveryAnswer, ...(error.status === 412 && { 'tus-version': version }) };
    if (method !== 'HEAD') return faultResponse(error, more);
    // After any other refusal of a HEAD, tus-js-client restarts the file, even if the server is only busy.
    const status = error.status >= 500 ? 423 : error.status;
    const headers = { ...more, ...(error.status >= 500 && { 'retry-after': String(error.retryAfter ?? 5) }) };
    return madeOf(error, new Response(null, { status, headers }));
  }
}

/** The answer to OPTIONS: what the server supports, and what browsers may send. `most`: largest file, bytes. */
export function optionsAnswer(most: number): Response {
  return new Response(null, {
    status: 204,
    headers: {
      ...ofEveryAnswer,
      'tus-version': version,
      'tus-extension': extensions,
      'tus-max-size': String(most),
      'access-control-allow-methods': 'POST, HEAD, PATCH, DELETE, OPTIONS',
      // `*` does not include Authorization, and not every browser knows it.
      'access-control-allow-headers':
        'Content-Type, Tus-Resumable, Upload-Length, Upload-Offset, Upload-Metadata, Upload-Defer-Length, Upload-Concat, X-HTTP-Method-Override, X-Request-ID, X-Requested-With, *',
      'access-control-max-age': String(publicPreflightAge),
    },
  });
}

/** The method of a request. Some clients can send only POST. */
export function methodOf({ method, headers }: Request): string {
  return headers.get('x-http-method-override')?.toUpperCase() ?? method;
}

/** Fault `upload.wrong_version` (412). */
export function checkVersion({ headers }: Request): void {
  const given = headers.get('tus-resumable');
  if (given !== version) throw wrongVersion(given);
}

/** Reads the headers of a creation. Faults `upload.invalid` (400), `upload.wrong_type` (415). */
export function creationOf(request: Request): Creation {
  const { headers } = request;
  if (headers.get('upload-concat') !== null)
    throw invalid(
      'Upload-Concat: files cannot be put together here; send one upload, not several side by side.',
    );
  if (headers.get('upload-defer-length') !== null)
    throw invalid('Upload-Defer-Length: the length must be known at the creation; give Upload-Length.');
  const size = countOf(headers, 'Upload-Length');
  const metadata = headers.get('upload-metadata') ?? '';
  checkMetadata(metadata);
  const hasType = mediaTypeOf(headers) === bytesType;
  if (!hasType && hasBody(request)) throw wrongType;
  return { size, metadata, hasBytes: hasType };
}

export interface Creation {
  /** Bytes. */
  readonly size: number;
  /** As the client sent it. */
  readonly metadata: string;
  /** The body has the first bytes. */
  readonly hasBytes: boolean;
}

/** The offset of a PATCH. Faults as above. */
export function offsetOf({ headers }: Request): number {
  if (mediaTypeOf(headers) !== bytesType) throw wrongType;
  if (headers.get('upload-length') !== null)
    throw invalid('Upload-Length: the length was given at the creation, and stays.');
  return countOf(headers, 'Upload-Offset');
}

function mediaTypeOf(headers: Headers): string {
  return headers.get('content-type')?.split(';')[0].trim().toLowerCase() ?? '';
}

function hasBody(request: Request): boolean {
  return (lengthOf(request) ?? 0) > 0 || request.headers.get('transfer-encoding') !== null;
}

function countOf(headers: Headers, name: string): number {
  const text = headers.get(name);
  const count = text !== null && /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(count)) return count;
  throw invalid(`${name}: expected a number of bytes, ${text === null ? 'it is missing' : 'it is none'}.`);
}

/** Expects pairs of a key and an optional value in Base64; each key once. */
function checkMetadata(text: string): void {
  if (text.length > mostMetadata)
    throw invalid(`Upload-Metadata: ${text.length} characters; at most ${mostMetadata}.`);
  if (text === '') return;
  const keys = text.split(',').map((pair) => {
    const [, key] =
      /^ *([!-+\--~]+)(?: (?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)? *$/.exec(pair) ??
      [];
    if (key === undefined) throw invalid('Upload-Metadata: expected pairs of a key and its value in Base64.');
    return key;
  });
  if (new Set(keys).size < keys.length) throw invalid('Upload-Metadata: a key is there twice.');
}
