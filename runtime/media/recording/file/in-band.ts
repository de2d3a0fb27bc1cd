import { avcSets, hevcSets } from '../../codecs/parameter-sets.ts';
import { FragmentCursor, type OwnFragment, rowSize } from '../../mp4/fragment-reader.ts';
import { boxInEntry } from '../../mp4/read-init.ts';

/** The parameter sets of a sample entry as they stand in a sample. */
export interface ParameterSets {
  readonly bytes: Uint8Array;
  /** Bytes of the length in front of each NAL unit. */
  readonly lengthSize: number;
  readonly isHevc: boolean;
}

/**
 * Puts the parameter sets in front of each key frame of a part that has none, behind its access unit delimiter. Browsers know
 * the first sample entry of a film only: without this they stop for good where an encoder changed its settings, and cannot
 * come back from there (Chromium 150, `PIPELINE_ERROR_DECODE`). Some 50 bytes a key frame.
 *
 * `fragment` is what was read of `bytes`, one moof and its mdat. Answers `bytes` itself when nothing is missing.
 */
export function withParameterSets(
  bytes: Uint8Array,
  options: { fragment: OwnFragment; setsOf: (track: number) => ParameterSets | undefined },
): Uint8Array {
  const { fragment, setsOf } = options;
  const added: { at: number; sets: Uint8Array }[] = [];
  let grown = 0;
  const changes: { at: number; value: number }[] = [];
  for (const run of fragment.runs) {
    const { rows, flags } = run;
    // The data offset stands in front of the rows; in a row the size stands behind the duration.
    if (grown > 0) changes.push({ at: rows.at - 4, value: run.at + grown });
    const sets = setsOf(run.track);
    if (sets === undefined) continue;
    const cursor = new FragmentCursor([run]);
    for (let sizeAt = rows.at + 4; cursor.next(); sizeAt += rowSize(flags)) {
      const { at, size, isSync } = cursor;
      const place = isSync ? placeOf(bytes.subarray(at, at + size), sets) : -1;
      if (place < 0) continue;
      added.push({ at: at + place, sets: sets.bytes });
      changes.push({ at: sizeAt, value: size + sets.bytes.length });
      grown += sets.bytes.length;
    }
  }
  if (added.length === 0) return bytes;
  const whole = new Uint8Array(bytes.length + grown);
  let from = 0;
  let to = 0;
  for (const { at, sets } of [...added, { at: bytes.length, sets: NOTHING }]) {
    whole.set(bytes.subarray(from, at), to);
    to += at - from;
    whole.set(sets, to);
    to += sets.length;
    from = at;
  }
  const view = new DataView(whole.buffer);
  for (const { at, value } of changes) view.setUint32(at, value);
  view.setUint32(view.getUint32(0), fragment.dataSize + grown);
  return whole;
}

/** Undefined: this codec's key frames have all that a decoder needs, or the entry does not tell. */
export function parameterSets(entry: Uint8Array): ParameterSets | undefined {
  const found = boxInEntry({ entry, isVideo: true }, ['avcC', 'hvcC']);
  if (found === undefined) return undefined;
  const record = found.payload;
  const isHevc = found.type === 'hvcC';
  const sets = isHevc ? hevcSets(record) : avcSets(record);
  if ('malformed' in sets) return undefined;
  const units = sets.filter(({ type }) => !isHevc || (type >= 32 && type <= 34)).map(({ bytes }) => bytes);
  const lengthSize = (record[isHevc ? 21 : 4] & 3) + 1;
  // One that does not fit its length can be in no sample.
  if (units.length === 0 || units.some((unit) => unit.length >= 2 ** (lengthSize * 8))) return undefined;
  const pieces = units.flatMap((unit) => {
    const length = Uint8Array.from(
      { length: lengthSize },
      (_, i) => unit.length >> ((lengthSize - 1 - i) * 8),
    );
    return [length, unit];
  });
  return { bytes: Buffer.concat(pieces), lengthSize, isHevc };
}

const NOTHING = new Uint8Array(0);

/** Where parameter sets go in a sample; -1: it has some, or is not to be understood. */
function placeOf(sample: Uint8Array, { lengthSize, isHevc }: ParameterSets): number {
  let place = 0;
  for (let at = 0; at + lengthSize < sample.length; ) {
    let size = 0;
    for (let i = 0; i < lengthSize; i += 1) size = size * 256 + sample[at + i];
    if (at + lengthSize + size > sample.length) return -1;
    const head = sample[at + lengthSize];
    const type = isHevc ? (head >> 1) & 63 : head & 31;
    if (isHevc ? type >= 32 && type <= 34 : type === 7 || type === 8) return -1;
    // A picture's own units: ISO/IEC 14496-10 table 7-1, ITU-T H.265 table 7-1.
    if (isHevc ? type < 32 : type >= 1 && type <= 5) return place;
    at += lengthSize + size;
    if (type === (isHevc ? 35 : 9)) place = at;
  }
  return -1;
}
