import { type BlobRange, blobLimits } from '../ports/blobs.ts';

/**
 * What is wrong with a key; undefined for a good one: `recordings/<id>/source.mp4`.
 *
 * Folders have no dot and the name has an ending, so that no blob can lie where another has its folder. Lower case
 * alone, because two keys must not be one file where a disk ignores case. Each part begins and ends with a letter or digit: no
 * `..`, nothing hidden, no option of a command, no dot at the end, which Windows drops.
 */
export function keyProblem(key: string): string | undefined {
  const { keyLength, segmentLength, segments } = blobLimits;
  if (key.length > keyLength) return `has ${key.length} characters; at most ${keyLength}`;
  const parts = key.split('/');
  if (parts.length > segments) return `has ${parts.length} parts; at most ${segments}`;
  const long = parts.find((part) => part.length > segmentLength);
  if (long !== undefined) return `has a part of ${long.length} characters; at most ${segmentLength}`;
  const folders = parts.slice(0, -1);
  if (!folders.every((part) => folderShape.test(part)) || !nameShape.test(parts.at(-1) ?? '')) {
    return 'expected folder/name.ext of a-z 0-9 _ - and, in the name alone, dots; each part from letter or digit to letter or digit';
  }
  const device = parts.find((part) => devices.test(part));
  return device === undefined ? undefined : `${device} is a device on Windows`;
}

/** Throws a RangeError that names the first key which is none. */
export function checkBlobKeys(keys: readonly string[]): void {
  for (const key of keys) {
    const problem = keyProblem(key);
    if (problem === undefined) continue;
    throw new RangeError(`${JSON.stringify(key.slice(0, 100))} is no key of a blob: ${problem}`);
  }
}

/** The bytes a range means of a blob of this size; `beyond` when it begins behind the end. */
export function rangeOf(range: BlobRange | undefined, size: number): { from: number; to: number } | 'beyond' {
  if (range === undefined) return { from: 0, to: size };
  const from = range.last === undefined ? range.from : Math.max(0, size - range.last);
  if (from >= size) return 'beyond';
  return { from, to: range.last === undefined ? Math.min(size, range.to ?? size) : size };
}

/** The parts that a blob of this size is made of: how many, and which length each must have. */
export function partsOf(size: number, partSize: number): { count: number; lengthOf(number: number): number } {
  const count = Math.ceil(size / partSize);
  if (!Number.isSafeInteger(size) || count < 1 || count > blobLimits.parts) {
    throw new RangeError(`size is ${size}: not of 1..${blobLimits.parts} parts of ${partSize} bytes`);
  }
  return {
    count,
    lengthOf: (number) => (number === count ? size - (count - 1) * partSize : partSize),
  };
}

/** Numbers of parts that a blob of this size needs and that are not there so, at most 100. */
export function missingParts(
  parts: readonly { number: number; size: number }[],
  { size, partSize }: { size: number; partSize: number },
): number[] {
  const { count, lengthOf } = partsOf(size, partSize);
  const there = new Map(parts.map((part) => [part.number, part.size]));
  const missing: number[] = [];
  for (let number = 1; number <= count && missing.length < blobLimits.missingShown; number++) {
    if (there.get(number) !== lengthOf(number)) missing.push(number);
  }
  return missing;
}

const folderShape = /^[a-z0-9]([a-z0-9_-]*[a-z0-9])?$/;
const nameShape = /^[a-z0-9]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9_-]*[a-z0-9])?)+$/;
/** Names that Windows gives to devices, whatever their ending (Win32 file namespaces). */
const devices = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/;
