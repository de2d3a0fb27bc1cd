import { randomUUID } from 'node:crypto';
import type { Fault } from '../../../../core/base/fault.ts';
import { startFault } from '../../../../core/blobs/faults.ts';
import type { Connection, S3BlobsOptions } from './connection.ts';
import { hasS3Code, isPassing, s3Error } from './errors.ts';
import { TransportError } from './http-handler.ts';

/**
 * Finds out whether the bucket can be used, and creates it when it is missing: it is listed, and a small blob is written,
 * read and deleted. Each way in which that fails has a Fault of its own, which names the setting that is wrong.
 */
export async function openBucket(connection: Connection, options: S3BlobsOptions): Promise<void> {
  const { bucket, send } = connection;
  const Bucket = { Bucket: bucket };
  const list = () => send((sdk) => new sdk.ListObjectsV2Command({ ...Bucket, MaxKeys: 1 }));
  const fail = (error: unknown, doing: string): never => {
    throw problemOf(error, { ...options, doing }) ?? error;
  };

  const isThere = await list().then(
    () => true,
    (error) => (hasS3Code(error, 'NoSuchBucket') ? false : fail(error, `list the bucket ${bucket}`)),
  );
  if (!isThere) await create(connection, options);

  const Key = `probes/${randomUUID()}.txt`;
  const body = connection.body(Buffer.from(Key));
  const put = { ...Bucket, Key, ...body, ContentType: 'text/plain' };
  await send((sdk) => new sdk.PutObjectCommand(put)).catch((error) =>
    fail(error, `write to the bucket ${bucket}`),
  );
  // A server of another kind may answer 200 to anything.
  const read = () => send((sdk) => new sdk.GetObjectCommand({ ...Bucket, Key }));
  const { Body } = await read().catch((error) => fail(error, `read from the bucket ${bucket}`));
  if ((await Body?.transformToString()) !== Key) {
    const message = `s3.endpoint: ${options.endpoint} does not give back what it said it had stored`;
    throw startFault('blobs.endpoint', { message });
  }
  await send((sdk) => new sdk.DeleteObjectCommand({ ...Bucket, Key })).catch((error) =>
    fail(error, `delete in the bucket ${bucket}`),
  );
}

async function create({ bucket, send }: Connection, options: S3BlobsOptions): Promise<void> {
  const { region = 'us-east-1' } = options;
  // The one region that must not be named.
  const where =
    region === 'us-east-1' ? {} : { CreateBucketConfiguration: { LocationConstraint: region as never } };
  try {
    await send((sdk) => new sdk.CreateBucketCommand({ Bucket: bucket, ...where }));
  } catch (error) {
    // Another node was quicker.
    if (hasS3Code(error, 'BucketAlreadyOwnedByYou')) return;
    const found = s3Error(error);
    if (found?.status === undefined || isPassing(error)) {
      throw problemOf(error, { ...options, doing: `create the bucket ${bucket}` }) ?? error;
    }
    const message = `s3.bucket: ${bucket} is missing and could not be created: ${found.message}`;
    throw startFault('blobs.bucket', { message, cause: error });
  }
}

/** Undefined for what is no error of S3. */
function problemOf(error: unknown, options: S3BlobsOptions & { doing: string }): Fault | undefined {
  const { endpoint, region = 'us-east-1', accessKeyId, bucket, doing } = options;
  const found = s3Error(error);
  if (!found) return undefined;
  const at = endpoint === undefined ? `AWS in ${region}` : endpoint;
  const { code = '', status = 0 } = found;
  const fault = (which: Parameters<typeof startFault>[0], message: string) =>
    startFault(which, { message, cause: error });
  const tail = `(${found.message}, asked to ${doing})`;
  if (error instanceof TransportError && error.reason !== 'protocol') {
    return fault('blobs.unreachable', `s3.endpoint: ${at} did not answer ${tail}`);
  }
  if (unknownKey.has(code)) {
    return fault('blobs.credentials', `s3.accessKeyId: ${at} does not know ${accessKeyId} ${tail}`);
  }
  if (code === 'SignatureDoesNotMatch') {
    return fault(
      'blobs.credentials',
      `s3.secretAccessKey: it is not that of ${accessKeyId} at ${at} ${tail}`,
    );
  }
  if (code === 'RequestTimeTooSkewed') {
    return fault('blobs.clock', `the clock of this machine differs from that of ${at} by too much ${tail}`);
  }
  if (
    code === 'AuthorizationHeaderMalformed' ||
    code === 'PermanentRedirect' ||
    status === 301 ||
    status === 307
  ) {
    return fault('blobs.region', `s3.region: ${bucket} at ${at} is not in ${region} ${tail}`);
  }
  if (status === 403 || status === 401) {
    return fault('blobs.forbidden', `s3.accessKeyId: ${accessKeyId} may not ${doing} at ${at} ${tail}`);
  }
  if (isPassing(error) && status >= 500) {
    return fault('blobs.unreachable', `s3.endpoint: ${at} does not work ${tail}`);
  }
  // A server that implements S3 says in XML what is wrong.
  if (/^\d+$/.test(code) || code === '' || status < 300 || found.isBare) {
    return fault('blobs.endpoint', `s3.endpoint: ${at} does not speak as S3 does ${tail}`);
  }
  return fault('blobs.bucket', `s3.bucket: ${bucket} at ${at} cannot be used ${tail}`);
}

/** The last is versitygw's. */
const unknownKey = new Set(['InvalidAccessKeyId', 'InvalidClientTokenId', 'XAdminUserNotFound']);
