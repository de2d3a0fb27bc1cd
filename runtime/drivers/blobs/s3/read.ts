import type { GetObjectCommandOutput } from '@aws-sdk/client-s3';
import { pulledStream } from '../../../../core/base/pulled-stream.ts';
import { unavailable } from '../../../../core/blobs/faults.ts';
import { rangeOf } from '../../../../core/plugin/blob-key.ts';
import { type BlobRange, type GetOptions, type GetOutcome, typeOf } from '../../../../core/ports/blobs.ts';
import type { Connection } from './connection.ts';
import { faultOf, hasS3Code, isPassing } from './errors.ts';
import { etagOf, head } from './mark.ts';

/** @param options `signal` ends the body too; `onEnd` is called once when nothing more is read, whatever the outcome */
export async function readBlob(
  connection: Connection,
  options: Omit<GetOptions, 'signal'> & { key: string; signal: AbortSignal; onEnd: () => void },
): Promise<GetOutcome> {
  const { key, range, signal, onEnd } = options;
  let isRead = false;
  try {
    const answer = await open(connection, { key, ...(range && { range: rangeText(range) }), signal });
    if (answer === 'absent') return { outcome: 'absent' };
    if (answer === 'beyond') {
      const found = await head(connection, { key, signal });
      return found ? { outcome: 'beyond', size: found.ContentLength ?? 0 } : { outcome: 'absent' };
    }
    const place = placeOf(answer, range);
    if (place === 'beyond') return { outcome: 'beyond', size: answer.ContentLength ?? 0 };
    if (!place) throw unavailable(`${key} in bucket ${connection.bucket}: the store answered another range`);
    const { from, to, size } = place;
    const etag = etagOf(answer, key);
    const blob = { key, size, etag, modified: answer.LastModified?.getTime() ?? 0, type: typeOf(key) };
    isRead = true;
    return {
      outcome: 'ok',
      blob,
      from,
      to,
      body: bodyOf(connection, { key, etag, from, to, first: answer, signal, onEnd }),
    };
  } finally {
    if (!isRead) onEnd();
  }
}

/**
 * The bytes, each once and in order. A connection that breaks is made again from where it was, for the same etag; what can
 * not be had is a Fault, never an early end.
 */
function bodyOf(
  connection: Connection,
  options: {
    key: string;
    etag: string;
    from: number;
    to: number;
    first: GetObjectCommandOutput;
    signal: AbortSignal;
    onEnd: () => void;
  },
): ReadableStream<Uint8Array> {
  const { key, etag, from, to, signal, onEnd } = options;
  const { limits, bucket } = connection;
  let at = from;
  let failures = 0;
  let reader: Reader | undefined = readerOf(options.first);

  const again = async (): Promise<Reader> => {
    const range = `bytes=${at}-${to - 1}`;
    // The loop around this is what repeats.
    const answer = await open(connection, { key, range, ifMatch: etag, signal, attempts: 1 });
    const place = typeof answer === 'string' ? undefined : placeOf(answer, { from: at, to });
    if (typeof answer === 'string' || place === 'beyond' || place?.to !== to) {
      throw unavailable(`${key} in bucket ${bucket} was replaced or deleted while it was read`);
    }
    return readerOf(answer);
  };
  const next = async (): Promise<Uint8Array> => {
    for (;;) {
      try {
        reader ??= await again();
        const { value } = await reader.read();
        if (!value) throw unavailable(`${key} in bucket ${bucket} broke off at ${at} of ${to}`);
        failures = 0;
        at += value.length;
        if (at > to) throw unavailable(`${key} in bucket ${bucket}: more bytes than the ${to} announced`);
        return value;
      } catch (error) {
        signal.throwIfAborted();
        reader?.cancel().catch(() => {});
        reader = undefined;
        failures += 1;
        const cause = (error as Error).cause ?? error;
        if (failures >= limits.attempts || !isPassing(cause)) {
          throw faultOf(error, `${key} in bucket ${bucket}, at ${at} of ${to}`);
        }
        await connection.pause(failures + 1, signal);
      }
    }
  };

  return pulledStream({
    signal,
    next,
    isDone: () => at >= to,
    end() {
      reader?.cancel().catch(() => {});
      onEnd();
    },
  });
}

async function open(
  connection: Connection,
  options: {
    key: string;
    range?: string;
    ifMatch?: string;
    signal: AbortSignal;
    attempts?: number;
  },
): Promise<GetObjectCommandOutput | 'absent' | 'beyond'> {
  const { key, range, ifMatch, signal, attempts } = options;
  const input = {
    Bucket: connection.bucket,
    Key: key,
    ...(range !== undefined && { Range: range }),
    ...(ifMatch !== undefined && { IfMatch: `"${ifMatch}"` }),
  };
  try {
    return await connection.send((sdk) => new sdk.GetObjectCommand(input), {
      timeout: 0,
      most: Number.MAX_SAFE_INTEGER,
      signal,
      ...(attempts !== undefined && { attempts }),
    });
  } catch (error) {
    // 412: the version that was being read is gone.
    if (hasS3Code(error, 'NoSuchKey', '412')) return 'absent';
    if (hasS3Code(error, '416')) return 'beyond';
    throw faultOf(error, `get of ${key} in bucket ${connection.bucket}`);
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

function readerOf({ Body }: GetObjectCommandOutput): Reader {
  return (Body as unknown as ReadableStream<Uint8Array>).getReader();
}

/** RFC 9110 §14.1.2: the end is part of it. */
function rangeText(range: BlobRange): string {
  if (range.last !== undefined) return `bytes=-${range.last}`;
  return `bytes=${range.from}-${range.to === undefined ? '' : range.to - 1}`;
}

/**
 * What the answer holds; undefined when that is not what was asked for. A store may answer the whole instead of a range, which is
 * as good only where the range is all of it, or an empty blob, which has none.
 */
function placeOf(
  { ContentRange, ContentLength = 0 }: GetObjectCommandOutput,
  range: BlobRange | undefined,
): { from: number; to: number; size: number } | 'beyond' | undefined {
  const [from, last, size] = (/^bytes (\d+)-(\d+)\/(\d+)$/.exec(ContentRange ?? '') ?? [])
    .slice(1)
    .map(Number);
  const held = size === undefined ? { from: 0, to: ContentLength } : { from, to: last + 1 };
  const whole = size ?? ContentLength;
  const wanted = rangeOf(range, whole);
  if (wanted === 'beyond') return size === undefined && whole === 0 ? 'beyond' : undefined;
  return wanted.from === held.from && wanted.to === held.to ? { ...held, size: whole } : undefined;
}
