import { randomUUID } from 'node:crypto';
import type {
  CompleteMultipartUploadCommandOutput,
  CreateMultipartUploadCommandOutput,
  ListMultipartUploadsCommandOutput,
  ListPartsCommandOutput,
} from '@aws-sdk/client-s3';
import {
  checkBlobKeys,
  checkCondition,
  checkPart,
  checkPartSize,
  keyProblem,
  missingParts,
  partsOf,
} from '../../../../core/blob-key.ts';
import {
  type BlobUpload,
  type BlobUploads,
  blobLimits,
  type CompleteOutcome,
  typeOf,
} from '../../../../core/ports/blobs.ts';
import { unavailable } from '../faults.ts';
import type { Connection } from './connection.ts';
import { faultOf, hasS3Code } from './errors.ts';
import { bare, conditionOf, isConflict, madeBy, markName } from './mark.ts';

export type S3Uploads = BlobUploads;

/** The multipart uploads of S3. The id is `<mark>.<id of S3>`; in a listing, which does not tell the mark, `.<id of S3>`. */
export function s3Uploads(connection: Connection): S3Uploads {
  const { bucket, send, ask, limits } = connection;
  const place = ({ key, id }: Pick<BlobUpload, 'key' | 'id'>) => {
    checkBlobKeys([key]);
    return { Bucket: bucket, Key: key, UploadId: id.slice(id.indexOf('.') + 1) };
  };

  const partsOfUpload = async (upload: BlobUpload): Promise<readonly S3Part[] | 'gone'> => {
    const parts: S3Part[] = [];
    let after: string | undefined;
    do {
      const input = { ...place(upload), ...(after !== undefined && { PartNumberMarker: after }) };
      const page: ListPartsCommandOutput | undefined = await send<ListPartsCommandOutput>(
        (sdk) => new sdk.ListPartsCommand(input),
      ).catch((error) => unlessGone(error, `parts of ${upload.key} in bucket ${bucket}`));
      if (page === undefined) return 'gone';
      for (const { PartNumber = 0, Size = 0, ETag = '' } of page.Parts ?? []) {
        parts.push({ number: PartNumber, size: Size, etag: ETag });
      }
      after = page.IsTruncated === true ? page.NextPartNumberMarker : undefined;
    } while (after !== undefined && parts.length <= blobLimits.parts);
    return parts.sort((a, b) => a.number - b.number);
  };

  /** It was completed already, by this upload, or it is gone. */
  const former = async ({ key, id }: BlobUpload): Promise<CompleteOutcome> => {
    const made = await madeBy(connection, { key, mark: id.slice(0, id.indexOf('.')) });
    return made ? { outcome: 'ok', ...made } : { outcome: 'gone' };
  };

  return {
    async begin(key, { partSize }) {
      checkBlobKeys([key]);
      checkPartSize(partSize);
      const mark = randomUUID();
      const input = { Bucket: bucket, Key: key, ContentType: typeOf(key), Metadata: { [markName]: mark } };
      const { UploadId } = await ask<CreateMultipartUploadCommandOutput>(
        `begin of an upload of ${key}`,
        (sdk) => new sdk.CreateMultipartUploadCommand(input),
      );
      if (!UploadId)
        throw unavailable(`begin of an upload of ${key} in bucket ${bucket}: no id in the answer`);
      return { key, id: `${mark}.${UploadId}`, partSize };
    },

    async part(upload, { number, bytes, signal }) {
      checkPart({ number, bytes }, upload.partSize);
      const input = { ...place(upload), PartNumber: number, ...connection.body(bytes) };
      const answer = await send((sdk) => new sdk.UploadPartCommand(input), {
        timeout: 0,
        ...(signal && { signal }),
      }).catch((error) => unlessGone(error, `part ${number} of ${upload.key} in bucket ${bucket}`));
      return answer === undefined ? 'gone' : 'ok';
    },

    async parts(upload) {
      const parts = await partsOfUpload(upload);
      return parts === 'gone' ? parts : parts.map(({ number, size }) => ({ number, size }));
    },

    async complete(upload, { size, ...condition }) {
      checkCondition(condition);
      const { count } = partsOf(size, upload.partSize);
      const parts = await partsOfUpload(upload);
      if (parts === 'gone') return former(upload);
      const missing = missingParts(parts, { size, partSize: upload.partSize });
      if (missing.length > 0) return { outcome: 'incomplete', missing };
      const Parts = parts
        .filter(({ number }) => number <= count)
        .map(({ number, etag }) => ({ PartNumber: number, ETag: etag }));
      const input = { ...place(upload), MultipartUpload: { Parts }, ...conditionOf(condition) };
      let attempts = 0;
      try {
        const { ETag } = await send<CompleteMultipartUploadCommandOutput>(
          (sdk) => new sdk.CompleteMultipartUploadCommand(input),
          {
            timeout: 0,
            silence: limits.completeSilence,
            onAttempt: (attempt) => {
              attempts = attempt;
            },
          },
        );
        return { outcome: 'ok', etag: bare(ETag), size };
      } catch (error) {
        if (hasS3Code(error, 'NoSuchUpload')) return former(upload);
        if (!isConflict(error, condition)) {
          throw faultOf(error, `completing ${upload.key} in bucket ${bucket}`);
        }
        const made = attempts > 1 ? await former(upload) : undefined;
        return made?.outcome === 'ok' ? made : { outcome: 'conflict' };
      }
    },

    async abort(upload) {
      const input = place(upload);
      await send((sdk) => new sdk.AbortMultipartUploadCommand(input)).catch((error) =>
        unlessGone(error, `abort of ${upload.key} in bucket ${bucket}`),
      );
    },

    async unfinished({ before, limit, after }) {
      if (!(Number.isInteger(limit) && limit >= 1 && limit <= blobLimits.listed)) {
        throw new RangeError(`limit is ${limit}, not 1..${blobLimits.listed}`);
      }
      const [KeyMarker, UploadIdMarker] = after === undefined ? [] : (JSON.parse(after) as string[]);
      const page = await ask<ListMultipartUploadsCommandOutput>(
        'unfinished uploads',
        (sdk) =>
          new sdk.ListMultipartUploadsCommand({
            Bucket: bucket,
            MaxUploads: limit,
            KeyMarker,
            UploadIdMarker,
          }),
      );
      const uploads = (page.Uploads ?? [])
        .map(({ Key = '', UploadId, Initiated }) => ({
          key: Key,
          id: `.${UploadId}`,
          begun: Initiated?.getTime() ?? Number.POSITIVE_INFINITY,
        }))
        .filter(({ key, begun }) => begun < before && keyProblem(key) === undefined);
      if (page.IsTruncated !== true || page.NextKeyMarker === undefined) return { uploads };
      return { uploads, next: JSON.stringify([page.NextKeyMarker, page.NextUploadIdMarker ?? '']) };
    },
  };
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
