import { uuid } from '../../../core/base/ids.ts';
import type { Blobs } from '../../../core/ports/blobs.ts';
import type { OutboundSource } from '../../../core/ports/outbound.ts';
import { changed } from './faults.ts';

/** Characters of the name under which a file is pinned. */
export const mostNameCharacters = 200;

/** A body of multipart/form-data (RFC 7578) that is read as it is sent, with a length that is known before. */
export interface FormBody {
  readonly contentType: string;
  readonly body: OutboundSource;
  /** What kept the file from being read; the client that sends it says only that it could not. */
  readonly problem: () => unknown;
}

/** Fields in their order, then the file as the part `file`. */
export function formBody(file: FormFile, fields: Readonly<Record<string, string>> = {}): FormBody {
  const boundary = `millrace-${uuid()}`;
  const disposition = (rest: string) => `--${boundary}\r\nContent-Disposition: form-data; ${rest}\r\n`;
  const texts = Object.entries(fields).map(
    ([name, value]) => `${disposition(`name="${name}"`)}\r\n${value}\r\n`,
  );
  const head = disposition(`name="file"; filename="${fileNameOf(file.name)}"`);
  const before = Buffer.from(`${texts.join('')}${head}Content-Type: application/octet-stream\r\n\r\n`);
  const after = Buffer.from(`\r\n--${boundary}--\r\n`);
  let problem: unknown;
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: {
      length: before.length + file.size + after.length,
      async *chunks() {
        yield before;
        try {
          yield* file.read();
        } catch (error) {
          problem = error;
          throw error;
        }
        yield after;
      },
    },
    problem: () => problem,
  };
}

export interface FormFile {
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  read(): AsyncIterable<Uint8Array>;
}

/** A blob to be sent. Fault `ipfs.changed` when it is not there any more as it was. */
export function fileOfBlob(
  { key, size, name }: { readonly key: string; readonly size: number; readonly name: string },
  { blobs, signal }: { readonly blobs: Blobs; readonly signal: AbortSignal },
): FormFile {
  return {
    ...{ name, size },
    async *read() {
      const found = await blobs.get(key, { signal });
      if (found.outcome !== 'ok') throw changed();
      if (found.blob.size !== size) {
        found.body.cancel().catch(() => {});
        throw changed();
      }
      yield* found.body;
    },
  };
}

/** Bytes to be sent. */
export function fileOfBytes(bytes: Uint8Array, name: string): FormFile {
  return {
    ...{ name, size: bytes.length },
    async *read() {
      yield bytes;
    },
  };
}

/** What no receiver takes for a path, an end of the name or an escape. */
function fileNameOf(name: string): string {
  const safe = name
    .slice(0, mostNameCharacters)
    .replace(/[\p{Cc}\p{Cs}"%\\/]/gu, '_')
    .trim();
  return /^\.*$/.test(safe) ? 'file' : safe;
}
