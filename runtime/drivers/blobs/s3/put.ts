import { randomUUID } from 'node:crypto';
import { tooLarge, unavailable } from '../../../../core/blobs/faults.ts';
import { piecesOf } from '../../../../core/blobs/source.ts';
import { partsOf } from '../../../../core/plugin/blob-key.ts';
import {
  type BlobSource,
  type BlobUploads,
  blobLimits,
  type PutOptions,
  type PutOutcome,
  typeOf,
} from '../../../../core/ports/blobs.ts';
import { freeBytes } from '../../../base/copy-bytes.ts';
import type { Connection } from './connection.ts';
import { faultOf, hasS3Code } from './errors.ts';
import { etagOf, madeBy, markName } from './mark.ts';
import { chunksOf } from './parts.ts';

/** Parts in which a longer source is sent, bytes; larger ones when its known length needs more than 10,000 of them. */
const streamedPart = 8 * 1_048_576;
/** Parts of one source that are sent side by side. They, and the next, are what lies in memory. */
const partsAtOnce = 3;

/** What fits one part is one request; anything longer is a multipart upload of its own. */
export async function putSource(
  connection: Connection,
  options: { key: string; source: BlobSource; uploads: BlobUploads } & PutOptions,
): Promise<PutOutcome> {
  const { key, source, uploads, size, signal, ifAbsent = false } = options;
  const known = source instanceof Uint8Array ? source.length : size;
  const partSize = partSizeOf(known);
  const parts = chunksOf(piecesOf(source, { size, signal }), { partSize, most: known ?? partSize });
  try {
    const first = (await parts.next()).value ?? new Uint8Array();
    if (first.length < partSize) return await putBytes(connection, { key, bytes: first, ifAbsent, signal });
    const second = await parts.next();
    if (second.done) return await putBytes(connection, { key, bytes: first, ifAbsent, signal });
    const whole = joined([first, second.value], parts);
    return await putParts({ key, uploads, partSize, ifAbsent, signal }, whole);
  } finally {
    await parts.return();
  }
}

async function putBytes(
  connection: Connection,
  options: { key: string; bytes: Uint8Array; ifAbsent: boolean; signal: AbortSignal | undefined },
): Promise<PutOutcome> {
  const { key, bytes, ifAbsent, signal } = options;
  const mark = randomUUID();
  const size = bytes.length;
  const input = {
    Bucket: connection.bucket,
    Key: key,
    ...connection.body(bytes),
    ContentType: typeOf(key),
    Metadata: { [markName]: mark },
    ...(ifAbsent && { IfNoneMatch: '*' }),
  };
  let attempts = 0;
  const onAttempt = (attempt: number) => {
    attempts = attempt;
  };
  try {
    const answer = await connection.send((sdk) => new sdk.PutObjectCommand(input), {
      timeout: 0,
      onAttempt,
      ...(signal && { signal }),
    });
    return { outcome: 'ok', etag: etagOf(answer, key), size };
  } catch (error) {
    if (!hasS3Code(error, '412')) throw faultOf(error, `put of ${key} in bucket ${connection.bucket}`);
    const made = attempts > 1 ? await madeBy(connection, { key, mark, signal }) : undefined;
    return made ? { outcome: 'ok', ...made } : { outcome: 'conflict' };
  }
}

interface Upload {
  readonly key: string;
  readonly uploads: BlobUploads;
  readonly partSize: number;
  readonly ifAbsent: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Some parts are under way while the next is filled; the first that fails ends all, and the upload is aborted. */
async function putParts(how: Upload, parts: AsyncIterable<Uint8Array>): Promise<PutOutcome> {
  const { key, uploads, partSize, ifAbsent, signal } = how;
  const upload = await uploads.begin(key, { partSize });
  const own = new AbortController();
  const ending = signal ? AbortSignal.any([signal, own.signal]) : own.signal;
  const running = new Set<Promise<void>>();
  let failed: { error: unknown } | undefined;
  let number = 0;
  let size = 0;
  const send = async (bytes: Uint8Array, part: number) => {
    try {
      const outcome = await uploads.part(upload, { number: part, bytes, signal: ending });
      if (outcome === 'gone') throw unavailable(`the upload of ${key} was removed while it was made`);
      freeBytes(bytes);
    } catch (error) {
      failed ??= { error };
      own.abort(error);
    }
  };
  let isDone = false;
  try {
    for await (const bytes of parts) {
      number += 1;
      size += bytes.length;
      if (number > blobLimits.parts) {
        throw tooLarge(`${key} has more than ${blobLimits.parts} parts of ${partSize} bytes`);
      }
      const run: Promise<void> = send(bytes, number).finally(() => running.delete(run));
      running.add(run);
      if (running.size >= partsAtOnce) await Promise.race(running);
      if (failed) break;
    }
    await Promise.all(running);
    if (failed) throw failed.error;
    const outcome = await uploads.complete(upload, { size, ifAbsent });
    if (outcome.outcome === 'gone' || outcome.outcome === 'incomplete') {
      throw unavailable(`the upload of ${key} lost parts while it was made`);
    }
    isDone = outcome.outcome === 'ok';
    return outcome;
  } catch (error) {
    own.abort(error);
    await Promise.allSettled(running);
    throw error;
  } finally {
    // What cannot be aborted now is found as unfinished.
    if (!isDone) await uploads.abort(upload).catch(() => {});
  }
}

function partSizeOf(size: number | undefined): number {
  if (size === undefined) return streamedPart;
  const { parts, partMost } = blobLimits;
  const mebibyte = 1_048_576;
  const least = Math.ceil(size / parts / mebibyte) * mebibyte;
  const partSize = Math.max(streamedPart, least);
  if (partSize > partMost) throw tooLarge(`${size} bytes are more than ${parts} parts of ${partMost} bytes`);
  if (size > 0) partsOf(size, partSize);
  return partSize;
}

async function* joined(
  first: readonly Uint8Array[],
  rest: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* first;
  yield* rest;
}
