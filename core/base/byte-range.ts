/** Bytes `from` up to `to`, which is not part of it. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/**
 * What a `Range` header means for a file of `size` bytes (RFC 9110 §14.1.2, §14.2). `whole`: there is none, or it is one
 * that a server may pass over: of another unit, malformed, or several ranges at once, for which the whole is as good an answer.
 * `beyond`: no byte of the file is in it (416).
 */
export function byteRange(header: string | null, size: number): ByteRange | 'whole' | 'beyond' {
  const [, first, last] = shape.exec(header ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return 'whole';
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'beyond' : { from: size - length, to: size };
  }
  const from = Number(first);
  if (last !== '' && Number(last) < from) return 'whole';
  if (from >= size) return 'beyond';
  return { from, to: last === '' ? size : Math.min(size, Number(last) + 1) };
}

/** One range of bytes; the name of the unit is of any case. */
const shape = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i;
