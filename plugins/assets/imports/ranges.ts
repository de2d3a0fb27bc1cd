import type { OutboundStream } from '../../../core/ports/outbound.ts';

type Headers = OutboundStream['headers'];

/** A file of another server as its first answer described it. */
export interface Remote {
  /** Bytes, as they are sent; undefined when it was not said. */
  readonly length: number | undefined;
  /** `Content-Encoding`, in lower case; empty for none. */
  readonly encoding: string;
  readonly etag: string | undefined;
  readonly lastModified: string | undefined;
  /** What names exactly these bytes in `If-Range`; undefined when nothing does. */
  readonly validator: string | undefined;
}

export function remoteOf({ headers, length }: Pick<OutboundStream, 'headers' | 'length'>): Remote {
  const { etag, 'last-modified': lastModified } = headers;
  return { length, encoding: encodingOf(headers), etag, lastModified, validator: validatorOf(headers) };
}

/** What asks for the rest of it from byte `at` on, or for all of it when it has changed (RFC 9110 §13.1.5). */
export function restHeaders({ validator }: Remote, at: number): Record<string, string> {
  return validator === undefined || at === 0 ? {} : { range: `bytes=${at}-`, 'if-range': validator };
}

/**
 * Length of the whole when an answer to that is the rest of the same file, undefined when it is not. `at: 0` asks for the whole.
 * What a server says twice must be the same twice, whatever it made of `If-Range`.
 */
export function isRest(
  { status, headers }: Pick<OutboundStream, 'status' | 'headers'>,
  { of: remote, at }: { of: Remote; at: number },
): boolean {
  if (status !== 206) return false;
  const range = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15}|\*)$/.exec(headers['content-range'] ?? '');
  if (!range || Number(range[1]) !== at) return false;
  const total = range[3] === '*' ? undefined : Number(range[3]);
  return (
    (total ?? remote.length) === (remote.length ?? total) &&
    (headers.etag ?? remote.etag) === remote.etag &&
    (headers['last-modified'] ?? remote.lastModified) === remote.lastModified &&
    encodingOf(headers) === remote.encoding
  );
}

function encodingOf(headers: Headers): string {
  const encoding = (headers['content-encoding'] ?? '').trim().toLowerCase();
  return encoding === 'identity' ? '' : encoding;
}

/**
 * A strong ETag, or the date of a file that had not changed for a second when it was sent (RFC 9110 §8.8.2.2). That section wants no
 * date where there is a weak tag; but the servers that send weak tags for files (Express for one) would then have to send all of
 * it again, and `isRest` compares tag, date and length besides.
 */
function validatorOf({ etag, 'last-modified': modified, date }: Headers): string | undefined {
  if (etag !== undefined && /^"[\x21\x23-\x7e]*"$/.test(etag)) return etag;
  if (modified === undefined || date === undefined) return undefined;
  return Date.parse(date) - Date.parse(modified) >= 1000 ? modified : undefined;
}
