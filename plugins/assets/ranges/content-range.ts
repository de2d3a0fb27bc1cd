import type { Fault } from '../../../core/base/fault.ts';
import { uploadFault } from '../uploads/faults.ts';
import { lengthOf } from '../uploads/tries.ts';

/** A piece of a file: bytes `from` to `to` (inclusive) of `total`. */
export interface Piece {
  readonly from: number;
  readonly to: number;
  readonly total: number;
}

/** The question how much of the file has arrived. */
export interface Question {
  readonly from?: undefined;
  /** Bytes of the file; undefined if the client does not say. */
  readonly total: number | undefined;
}

/**
 * Reads `Content-Range` (RFC 9110 §14.4) of a PUT. Undefined: it has none, so its body is the whole file. Faults `upload.invalid`
 * (400), `upload.length_required` (411), `upload.wrong_range` (416).
 */
export function contentRangeOf(request: Request): Piece | Question | undefined {
  const text = request.headers.get('content-range');
  if (text === null) return undefined;
  const found = /^bytes (?:(\d{1,15})-(\d{1,15})|\*)\/(\d{1,15}|\*)$/i.exec(text.trim());
  if (!found) throw invalid('expected `bytes <first>-<last>/<total>`, or `bytes */<total>` to ask');
  const [, first, last, all] = found;
  const total = all === '*' ? undefined : Number(all);
  if (first === undefined) return { total };
  if (total === undefined) throw invalid('the length of the file must be known, instead of `*`');
  const piece = { from: Number(first), to: Number(last), total };
  if (piece.from > piece.to || piece.to >= total) throw wrongRange(text.trim());
  checkLength(lengthOf(request), piece);
  return piece;
}

function checkLength(length: number | undefined, { from, to }: Piece): void {
  const size = to - from + 1;
  if (length === undefined) throw noLength;
  if (length !== size) throw invalid(`it names ${size} bytes, but Content-Length is ${length}`);
}

function invalid(problem: string): Fault {
  return uploadFault('upload.invalid', `Content-Range: ${problem}.`);
}

function wrongRange(text: string): Fault {
  const message = `Content-Range: \`${text}\` names bytes that are not in a file of this length.`;
  return uploadFault('upload.wrong_range', message);
}

const noLength = uploadFault(
  'upload.length_required',
  'A PUT with Content-Range needs a Content-Length, not chunked encoding.',
);
