import { uuid } from '../../../core/base/ids.ts';
import type { OutboundSource } from '../../../core/ports/outbound.ts';
import type { FileSource } from '../file-source.ts';

/** Characters of the name under which a file is pinned. */
export const mostNameCharacters = 200;

/** A body of multipart/form-data (RFC 7578) that is read as it is sent, with a length that is known before. */
export interface FormBody {
  readonly contentType: string;
  readonly source: OutboundSource;
  readonly problem: FileSource['problem'];
}

/** Fields in their order, then the file as the part `file`. */
export function formBody(file: FileSource, fields: Readonly<Record<string, string>> = {}): FormBody {
  const boundary = `millrace-${uuid()}`;
  const disposition = (rest: string) => `--${boundary}\r\nContent-Disposition: form-data; ${rest}\r\n`;
  const texts = Object.entries(fields).map(
    ([name, value]) => `${disposition(`name="${name}"`)}\r\n${value}\r\n`,
  );
  const head = disposition(`name="file"; filename="${fileNameOf(file.name)}"`);
  const before = Buffer.from(`${texts.join('')}${head}Content-Type: application/octet-stream\r\n\r\n`);
  const after = Buffer.from(`\r\n--${boundary}--\r\n`);
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    source: {
      length: before.length + file.size + after.length,
      async *chunks() {
        yield before;
        yield* file.read();
        yield after;
      },
    },
    problem: file.problem,
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
