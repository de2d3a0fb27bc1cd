import type { Blobs } from '../../core/ports/blobs.ts';
import { ipfsFault } from './ipfs/faults.ts';

/** A file that is read as it is sent, as often as it takes. */
export interface FileSource {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  read(): AsyncIterable<Uint8Array>;
  /** Why it could not be read; the client that sends it says only that it could not. */
  problem(): unknown;
}

/** Fault `ipfs.changed` when the blob is not there any more as it was. */
export function blobSource(
  { key, size, name }: { readonly key: string; readonly size: number; readonly name: string },
  { blobs, signal }: { readonly blobs: Blobs; readonly signal: AbortSignal },
): FileSource {
  let problem: unknown;
  return {
    ...{ name, size, problem: () => problem },
    async *read() {
      try {
        const found = await blobs.get(key, { signal });
        if (found.outcome !== 'ok') throw changed();
        if (found.blob.size !== size) {
          found.body.cancel().catch(() => {});
          throw changed();
        }
        yield* found.body;
      } catch (error) {
        problem = error;
        throw error;
      }
    },
  };
}

export function bytesSource(bytes: Uint8Array, name: string): FileSource {
  return {
    ...{ name, size: bytes.length, problem: () => undefined },
    async *read() {
      yield bytes;
    },
  };
}

const changed = () =>
  ipfsFault('ipfs.changed', 'The file was replaced or deleted while it was about to be sent.');
