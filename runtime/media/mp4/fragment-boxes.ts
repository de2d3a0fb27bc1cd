/** Types of the boxes of a fragmented film, and what stands in those of a fragment (ISO/IEC 14496-12 8.1.1, 8.2.1 and 8.8). */
export const MOOV = 0x6d6f6f76;
export const MOOF = 0x6d6f6f66;
export const MFHD = 0x6d666864;
export const TRAF = 0x74726166;
export const TFHD = 0x74666864;
export const TFDT = 0x74666474;
export const TRUN = 0x7472756e;
export const MDAT = 0x6d646174;

/** Of a full box, in front of its flags: 64-bit times of a tfdt, signed composition offsets of a trun. */
export const VERSION_1 = 0x01000000;
/** Of a tfhd: default-base-is-moof, default-sample-flags (8.8.7). */
export const TRACK_FLAGS = 0x020020;

/** Flags of a sample (8.8.3.1): sample_depends_on 2, sync. */
export const INDEPENDENT = 0x02000000;
/** sample_depends_on 1, sample_is_non_sync_sample. */
export const DEPENDS = 0x01010000;
export const NON_SYNC = 0x10000;

/** Columns and fields of a trun (8.8.8). */
export const DATA_OFFSET = 0x1;
export const FIRST_FLAGS = 0x4;
export const DURATIONS = 0x100;
export const SIZES = 0x200;
export const FLAGS = 0x400;
export const SHIFTS = 0x800;

/** The head of a box, 4.2: 8 bytes. */
export function writeHead(view: DataView, at: number, size: number, type: number): void {
  view.setUint32(at, size);
  view.setUint32(at + 4, type);
}

/** A tfdt with 64 bits (8.8.12), 20 bytes. `time` in ticks, whole and below 2^53. */
export function writeDecodeTime(view: DataView, at: number, time: number): void {
  writeHead(view, at, 20, TFDT);
  view.setUint32(at + 8, VERSION_1);
  view.setUint32(at + 12, Math.floor(time / 0x100000000));
  view.setUint32(at + 16, time % 0x100000000);
}
