import type { Malformed } from './config.ts';

/** A parameter set of a decoder configuration. */
export interface ParameterSet {
  /** nal_unit_type: of H.264 7 (SPS) or 8 (PPS); of H.265 32 (VPS), 33 (SPS), 34 (PPS) and others. */
  readonly type: number;
  /** The NAL unit. */
  readonly bytes: Uint8Array;
}

/** The parameter sets of an AVCDecoderConfigurationRecord, ISO/IEC 14496-15 5.3.3.1. */
export function avcSets(record: Uint8Array): readonly ParameterSet[] | Malformed {
  const sets: ParameterSet[] = [];
  let at = 5;
  for (const [type, mask] of [
    [7, 31],
    [8, 255],
  ]) {
    if (at >= record.length) return { malformed: 'it has no picture parameter set' };
    at = addSets(sets, { record, at: at + 1, count: record[at] & mask, type });
    if (at < 0) return cutShort;
  }
  return sets;
}

/** The parameter sets of an HEVCDecoderConfigurationRecord, ISO/IEC 14496-15 8.3.3.1. */
export function hevcSets(record: Uint8Array): readonly ParameterSet[] | Malformed {
  const sets: ParameterSet[] = [];
  let at = 23;
  for (let arrays = record[22]; arrays > 0; arrays -= 1) {
    if (at + 3 > record.length) return { malformed: 'a list of parameter sets is cut short' };
    const count = record[at + 1] * 256 + record[at + 2];
    at = addSets(sets, { record, at: at + 3, count, type: record[at] & 63 });
    if (at < 0) return cutShort;
  }
  return sets;
}

const cutShort: Malformed = { malformed: 'a parameter set is cut short' };

/** Sets in one record. H.264 has at most 286, and a record of 64 KiB has room for 21,800 empty ones. */
const mostSets = 512;

/** Returns where the list ends; -1: it does not fit. */
function addSets(
  sets: ParameterSet[],
  list: { record: Uint8Array; at: number; count: number; type: number },
): number {
  const { record, type } = list;
  let { at, count } = list;
  for (; count > 0; count -= 1) {
    const size = at + 2 <= record.length ? record[at] * 256 + record[at + 1] : 0;
    if (size === 0 || at + 2 + size > record.length || sets.length === mostSets) return -1;
    sets.push({ type, bytes: record.subarray(at + 2, at + 2 + size) });
    at += 2 + size;
  }
  return at;
}
