import { randomUUID } from 'node:crypto';
import type { ListMultipartUploadsCommandOutput, ListPartsCommandOutput } from '@aws-sdk/client-s3';
import { unavailable } from '../../../../core/blobs/faults.ts';
import { checkBlobKeys, keyProblem, missingParts, partsOf } from '../../../../core/plugin/blob-key.ts';
import {
  type BlobUpload,
  type BlobUploads,
  blobLimits,
  type CompleteOutcome,
  typeOf,
  type UnfinishedUpload,
} from '../../../../core/ports/blobs.ts';
import type { Connection } from './connection.ts';
import { faultOf, hasS3Code, isPassing } from './errors.ts';
import { etagOf, madeBy, markName } from './mark.ts';

/** Longest time, ms, without a byte while S3 puts the parts of an upload together. */
const completeSilence = 300_000;

/** The multipart uploads of S3. The id is `<mark>.<id of S3>`; in a listing, which does not tell the mark, `.<id of S3>`. */
export function s3Uploads(connection: Connection): BlobUploads {
  const { bucket, send, ask } = connection;
  return {
    async begin(key, { partSize }) {
      checkBlobKeys([key]);
      const mark = randomUUID();
      const input = { Bucket: bucket, Key: key, ContentType: typeOf(key), Metadata: { [markName]: mark } };
      const { UploadId } = await ask(
        `begin of an upload of ${key}`,
        (sdk) => new sdk.CreateMultipartUploadCommand(input),
      );
      if (!UploadId)
        throw unavailable(`begin of an upload of ${key} in bucket ${bucket}: no id in the answer`);
      return { key, id: `${mark}.${UploadId}`, partSize };
    },

    async part(upload, { number, bytes, signal }) {
      const input = { ...placeOf(connection, upload), PartNumber: number, ...connection.body(bytes) };
      const what = `part ${number} of ${upload.key} in bucket ${bucket}`;
      try {
        const options = { timeout: 0, ...(signal && { signal }) };
        await send((sdk) => new sdk.UploadPartCommand(input), options);
        return 'ok';
      } catch (error) {
        // A server that refuses before it has read all may close so soon that its answer is lost: so it is asked.
        if (isPassing(error) && (await partsOfUpload(connection, { upload, signal })) === 'gone')
          return 'gone';
        return unlessGone(error, what) ?? 'gone';
      }
    },

    async parts(upload) {
      const parts = await partsOfUpload(connection, { upload });
      return parts === 'gone' ? parts : parts.map(({ number, size }) => ({ number, size }));
    },

    complete: (upload, options) => completeUpload(connection, { upload, ...options }),

    async abort(upload) {
      const input = placeOf(connection, upload);
      await send((sdk) => new sdk.AbortMultipartUploadCommand(input)).catch((error) =>
        unlessGone(error, `abort of ${upload.key} in bucket ${bucket}`),
      );
    },

    unfinished: (options) => unfinishedUploads(connection, options),
  };
}

async function completeUpload(
  connection: Connection,
  { upload, size, ifAbsent = false }: { upload: BlobUpload; size: number; ifAbsent?: boolean },
): Promise<CompleteOutcome> {
  const { bucket, send } = connection;
  const { count } = partsOf(size, upload.partSize);
  const parts = await partsOfUpload(connection, { upload });
  if (parts === 'gone') return former(connection, upload);
  const missing = missingParts(parts, { size, partSize: upload.partSize });
  if (missing.length > 0) return { outcome: 'incomplete', missing };
  const Parts = parts
    .filter(({ number }) => number <= count)
    .map(({ number, etag }) => ({ PartNumber: number, ETag: etag }));
  const input = {
    ...placeOf(connection, upload),
    MultipartUpload: { Parts },
    ...(ifAbsent && { IfNoneMatch: '*' }),
  };
  let attempts = 0;
  try {
    const answer = await send((sdk) => new sdk.CompleteMultipartUploadCommand(input), {
      timeout: 0,
      silence: completeSilence,
      onAttempt: (attempt) => {
        attempts = attempt;
      },
    });
    return { outcome: 'ok', etag: etagOf(answer, upload.key), size };
  } catch (error) {
    if (hasS3Code(error, 'NoSuchUpload')) return former(connection, upload);
    if (!hasS3Code(error, '412')) throw faultOf(error, `completing ${upload.key} in bucket ${bucket}`);
    const made = attempts > 1 ? await former(connection, upload) : undefined;
    return made?.outcome === 'ok' ? made : { outcome: 'conflict' };
  }
}

async function unfinishedUploads(
  { bucket, ask }: Connection,
  { before, limit }: { before: number; limit: number },
): Promise<UnfinishedUpload[]> {
  const uploads: UnfinishedUpload[] = [];
  let KeyMarker: string | undefined;
  do {
    const input = { Bucket: bucket, MaxUploads: blobLimits.listed, KeyMarker };
    const page: ListMultipartUploadsCommandOutput = await ask(
      'unfinished uploads',
      (sdk) => new sdk.ListMultipartUploadsCommand(input),
    );
    const found = page.Uploads ?? [];
    for (const { Key: key = '', UploadId = '', Initiated } of found) {
      const begun = Initiated?.getTime() ?? Number.POSITIVE_INFINITY;
      const isSeen = uploads.some(({ id }) => id === `.${UploadId}`);
      if (begun < before && !isSeen && keyProblem(key) === undefined)
        uploads.push({ key, id: `.${UploadId}`, begun });
    }
    // By key alone, because not every store can go on amid the uploads of one: the last key of a page is read again.
    const keys = [...new Set(found.map(({ Key }) => Key))];
    KeyMarker = page.IsTruncated === true ? keys.at(keys.length > 1 ? -2 : -1) : undefined;
  } while (KeyMarker !== undefined && uploads.length < limit);
  return uploads.slice(0, limit);
}

async function partsOfUpload(
  connection: Connection,
  { upload, signal }: { upload: Pick<BlobUpload, 'key' | 'id'>; signal?: AbortSignal | undefined },
): Promise<readonly S3Part[] | 'gone'> {
  const { bucket, send } = connection;
  const parts: S3Part[] = [];
  let after: string | undefined;
  do {
    const input = { ...placeOf(connection, upload), ...(after !== undefined && { PartNumberMarker: after }) };
    const page: ListPartsCommandOutput | undefined = await send(
      (sdk) => new sdk.ListPartsCommand(input),
      signal && { signal },
    ).catch((error) => unlessGone(error, `parts of ${upload.key} in bucket ${bucket}`));
    if (page === undefined) return 'gone';
    for (const { PartNumber = 0, Size = 0, ETag = '' } of page.Parts ?? []) {
      parts.push({ number: PartNumber, size: Size, etag: ETag });
    }
    after = page.IsTruncated === true ? page.NextPartNumberMarker : undefined;
  } while (after !== undefined && parts.length <= blobLimits.parts);
  return parts.sort((a, b) => a.number - b.number);
}

/** It was completed already, by this upload, or it is gone. */
async function former(connection: Connection, { key, id }: BlobUpload): Promise<CompleteOutcome> {
  const made = await madeBy(connection, { key, mark: id.slice(0, id.indexOf('.')) });
  return made ? { outcome: 'ok', ...made } : { outcome: 'gone' };
}

function placeOf({ bucket }: Connection, { key, id }: Pick<BlobUpload, 'key' | 'id'>) {
  checkBlobKeys([key]);
  return { Bucket: bucket, Key: key, UploadId: id.slice(id.indexOf('.') + 1) };
}

interface S3Part {
  readonly number: number;
  readonly size: number;
  /** With quotes, as S3 wants it back. */
  readonly etag: string;
}

/** For a `catch`: undefined when the upload is not there. */
function unlessGone(error: unknown, what: string): undefined {
  if (hasS3Code(error, 'NoSuchUpload')) return undefined;
  throw faultOf(error, what);
}
