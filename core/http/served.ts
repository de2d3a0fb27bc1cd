import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliDecompress, gzip } from 'node:zlib';
import { takesBrotli, takesGzip } from './accept-encoding.ts';
import { preconditions } from './preconditions.ts';

/** Answers a request with a file: 304 where the client has it, else in the best encoding that the client takes. */
export type Served = (request: Request) => Promise<Response>;

interface ServedOptions {
  readonly type: string;
  /** `br`: the bytes are compressed with Brotli. `already`: what they are is compressed in itself, as images are. */
  readonly packed?: 'br' | 'already';
  readonly headers?: Readonly<Record<string, string>>;
}

const headersOfAll = {
  'cache-control': 'no-cache',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  vary: 'Accept-Encoding',
};
const compress = promisify(gzip);
const unpack = promisify(brotliDecompress);

/** A file that does not change while the program runs. Each encoding of it is made when it is first asked for, and kept. */
export function served(bytes: Uint8Array, { type, packed, headers = {} }: ServedOptions): Served {
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 32);
  const encode = {
    br: async () => bytes,
    gzip: async () => compress(packed === 'br' ? await unpack(bytes) : bytes),
    plain: async () => (packed === 'br' ? unpack(bytes) : bytes),
  };
  const made = new Map<keyof typeof encode, Promise<Uint8Array>>();
  return async (request) => {
    const accepted = request.headers.get('accept-encoding');
    const isGzipped = packed !== 'already' && takesGzip(accepted);
    const coding = packed === 'br' && takesBrotli(accepted) ? 'br' : isGzipped ? 'gzip' : 'plain';
    const etag = `${hash}-${coding}`;
    const all = { ...headersOfAll, ...headers, etag: `"${etag}"` };
    if (preconditions(request.headers, { etag }) === 'unchanged') {
      return new Response(null, { status: 304, headers: all });
    }
    const body = made.get(coding) ?? encode[coding]();
    made.set(coding, body);
    return new Response((await body) as Uint8Array<ArrayBuffer>, {
      headers: { ...all, 'content-type': type, ...(coding !== 'plain' && { 'content-encoding': coding }) },
    });
  };
}
