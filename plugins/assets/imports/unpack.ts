import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { failed } from './faults.ts';

/** Unpacked bytes up to which the ratio does not matter. */
const smallSize = 64 * 1_048_576;
/** How many times larger than its gzip a file may be: films hardly shrink. */
const mostRatio = 20;

/** Bytes, until there are none. */
export type Bytes = AsyncIterable<Uint8Array>;

/**
 * What a body says by its `Content-Encoding`. None is asked for, but object stores send what they were given with whatever header
 * they were given for it (S3), and browsers and `curl --compressed` show the file behind it. Unpacked by the threads of zlib.
 * Faults: `import.failed` for other encodings, for what is no gzip, and for more than the limits allow.
 */
export function unpacked(body: Bytes, { encoding }: { encoding: string }): Bytes {
  if (encoding === '') return body;
  if (encoding === 'gzip' || encoding === 'x-gzip') return gunzipped(body);
  throw failed('it comes with a Content-Encoding that was not asked for and is not gzip');
}

async function* gunzipped(body: Bytes): Bytes {
  let packed = 0;
  let size = 0;
  let wrong: unknown;
  const counted = async function* () {
    try {
      for await (const piece of body) {
        packed += piece.length;
        yield piece;
      }
    } catch (error) {
      wrong = error;
      throw error;
    }
  };
  const gunzip = createGunzip();
  const source = Readable.from(counted(), { objectMode: false });
  source.on('error', (error) => gunzip.destroy(error));
  try {
    for await (const piece of source.pipe(gunzip)) {
      size += piece.length;
      if (size > smallSize && size > packed * mostRatio)
        throw failed(`it comes as gzip, and unpacked it is more than ${mostRatio} times as large`);
      yield piece;
    }
  } catch (error) {
    if (wrong !== undefined) throw wrong;
    const code = (error as NodeJS.ErrnoException).code ?? '';
    throw code.startsWith('Z_') ? failed('it comes as gzip, and cannot be unpacked') : error;
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}
