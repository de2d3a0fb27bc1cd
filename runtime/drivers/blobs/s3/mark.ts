import type { HeadObjectCommandOutput } from '@aws-sdk/client-s3';
import { unavailable } from '../../../../core/blobs/faults.ts';
import type { Connection, SendOptions } from './connection.ts';
import { hasS3Code } from './errors.ts';

/**
 * The name under which a blob remembers which write made it. A request whose answer was lost is sent again, and may then find
 * that its condition does not hold because it was met already, or that its upload is gone because it was completed: the mark tells.
 */
export const markName = 'millrace-write';

/** Etag and size of the blob, when this write made it. */
export async function madeBy(
  connection: Connection,
  options: { key: string; mark: string; signal?: AbortSignal },
): Promise<{ etag: string; size: number } | undefined> {
  const { key, mark, signal } = options;
  const found = await head(connection, { key, signal });
  if (mark === '' || found?.Metadata?.[markName] !== mark) return undefined;
  return { etag: etagOf(found, key), size: found.ContentLength ?? 0 };
}

/** Undefined: there is none. */
export async function head(
  { ask, bucket }: Connection,
  { key, ...options }: { key: string } & SendOptions,
): Promise<HeadObjectCommandOutput | undefined> {
  const input = { Bucket: bucket, Key: key };
  try {
    return await ask(`head of ${key}`, (sdk) => new sdk.HeadObjectCommand(input), options);
  } catch (error) {
    // An answer to HEAD has no body that could name what is missing.
    if (hasS3Code((error as Error).cause, '404')) return undefined;
    throw error;
  }
}

/** The etag of an answer without the quotes that S3 writes. A server that sends none is not S3. */
export function etagOf({ ETag }: { readonly ETag?: string | undefined }, what: string): string {
  const etag = (ETag ?? '').replace(/^"|"$/g, '');
  if (etag === '') throw unavailable(`${what}: the store answered without an etag`);
  return etag;
}
