import { createHash, randomUUID } from 'node:crypto';
import type { BlobRange, Blobs, UnfinishedUpload } from '../../../core/ports/blobs.ts';

export const mebibyte = 1_048_576;

/** Bytes that differ at every place, with each seed others. */
export function bytesOf(length: number, seed = 1): Uint8Array {
  const bytes = new Uint8Array(length);
  const words = new Uint32Array(bytes.buffer, 0, length >> 2);
  let state = (seed * 2_654_435_761) >>> 0 || 1;
  for (let at = 0; at < words.length; at++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[at] = state;
  }
  for (let at = words.length * 4; at < length; at++) bytes[at] = seed + at;
  return bytes;
}

export function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

export function testFolder(): string {
  return `t/${randomUUID()}/`;
}

/** All bytes of a blob or a range of it, or the outcome when there are none. */
export async function read(
  blobs: Blobs,
  key: string,
  options: { range?: BlobRange } = {},
): Promise<Uint8Array | string> {
  const got = await blobs.get(key, options);
  if (got.outcome !== 'ok') return got.outcome;
  const bytes = await new Response(got.body).bytes();
  return bytes.length === got.to - got.from ? bytes : `${bytes.length} bytes, not ${got.to - got.from}`;
}

/** The etag of a put that must succeed. */
export async function put(blobs: Blobs, key: string, bytes: Uint8Array | string): Promise<string> {
  const outcome = await blobs.put(key, typeof bytes === 'string' ? Buffer.from(bytes) : bytes);
  if (outcome.outcome !== 'ok') throw new Error(`put of ${key}: ${outcome.outcome}`);
  return outcome.etag;
}

/** In pieces, through one buffer that is used again for each, as a reader of a file may do. */
export async function* inPieces(bytes: Uint8Array, piece = 100_000): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(piece);
  for (let at = 0; at < bytes.length; at += piece) {
    const part = bytes.subarray(at, at + piece);
    buffer.set(part);
    yield buffer.subarray(0, part.length);
    buffer.fill(0);
  }
}

export async function keysBelow(blobs: Blobs, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  let after: string | undefined;
  do {
    const page = await blobs.list(prefix, { limit: 1000, ...(after !== undefined && { after }) });
    keys.push(...page.blobs.map(({ key }) => key));
    after = page.next;
  } while (after !== undefined);
  return keys;
}

/** Unfinished uploads of one folder. */
export async function unfinishedBelow(blobs: Blobs, prefix: string): Promise<readonly UnfinishedUpload[]> {
  const found = await blobs.uploads.unfinished({ before: Date.now() + 60_000, limit: 1000 });
  return found.filter(({ key }) => key.startsWith(prefix));
}
