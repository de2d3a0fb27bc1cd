import { createReadStream } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { endings } from '../../../../core/blobs/endings.ts';
import { closed } from '../../../../core/blobs/faults.ts';
import { checkBlobKeys, keyProblem } from '../../../../core/plugin/blob-key.ts';
import { type BlobFacts, type BlobPage, type Blobs, typeOf } from '../../../../core/ports/blobs.ts';
import { adoptedFile } from '../adopted-file.ts';
import { connection, type S3BlobsOptions } from './connection.ts';
import { sentPiece } from './http-handler.ts';
import { etagOf, head } from './mark.ts';
import { openBucket } from './open.ts';
import { putSource } from './put.ts';
import { readBlob } from './read.ts';
import { s3Uploads } from './uploads.ts';

/** Blobs of one call that are deleted side by side. */
const deletesAtOnce = 16;

/**
 * Blobs in one bucket of S3, or of what speaks as S3 does (MinIO, R2, versitygw). The bucket should be for this alone: `unfinished`
 * lists every upload in it.
 */
export function s3Blobs(options: S3BlobsOptions): Blobs {
  const ends = endings();
  const bucket = connection(options);
  const uploads = s3Uploads(bucket);

  const blobs: Blobs = {
    adopting: 'copy',

    async open() {
      await openBucket(bucket, options);
    },

    async put(key, source, { signal, ...rest } = {}) {
      checkBlobKeys([key]);
      const own = ends.begin(signal);
      return putSource(bucket, { key, source, uploads, signal: own.signal, ...rest }).finally(own.end);
    },

    async adopt(key, path, given = {}) {
      checkBlobKeys([key]);
      const { size } = await adoptedFile(path, { size: given.size });
      const file = createReadStream(path, { highWaterMark: sentPiece });
      const outcome = await blobs.put(key, file, { ...given, size }).finally(() => file.destroy());
      if (outcome.outcome === 'ok') await unlink(path);
      return outcome;
    },

    async head(key) {
      checkBlobKeys([key]);
      const found = await head(bucket, { key });
      if (!found) return undefined;
      return factsOf(key, { ...found, Size: found.ContentLength });
    },

    async get(key, { range, signal } = {}) {
      checkBlobKeys([key]);
      signal?.throwIfAborted();
      const own = ends.begin(signal);
      return readBlob(bucket, { key, range, signal: own.signal, onEnd: own.end });
    },

    async list(prefix, { limit, after }): Promise<BlobPage> {
      const input = { Bucket: bucket.bucket, Prefix: prefix, StartAfter: after, MaxKeys: limit };
      const { Contents = [], IsTruncated } = await bucket.ask(
        `list of ${prefix}`,
        (sdk) => new sdk.ListObjectsV2Command(input),
      );
      const found = Contents.flatMap(({ Key: key = '', ...about }) =>
        keyProblem(key) === undefined ? factsOf(key, about) : [],
      );
      const next = IsTruncated === true ? Contents.at(-1)?.Key : undefined;
      return next === undefined ? { blobs: found } : { blobs: found, next };
    },

    async delete(keys) {
      checkBlobKeys(keys);
      const waiting = [...keys];
      // One request each: not every store answers the request for many, and each of them wants another checksum.
      const work = async () => {
        for (let key = waiting.pop(); key !== undefined; key = waiting.pop()) {
          const input = { Bucket: bucket.bucket, Key: key };
          await bucket.ask(`delete of ${key}`, (sdk) => new sdk.DeleteObjectCommand(input));
        }
      };
      await Promise.all(Array.from({ length: deletesAtOnce }, work));
    },

    uploads,

    async close() {
      ends.endAll(closed());
      bucket.close();
    },
  };
  return blobs;
}

function factsOf(key: string, about: { Size?: number; ETag?: string; LastModified?: Date }): BlobFacts {
  const { Size: size = 0, LastModified } = about;
  return { key, size, etag: etagOf(about, key), modified: LastModified?.getTime() ?? 0, type: typeOf(key) };
}
