import { copyBytes } from '../../base/copy-bytes.ts';

/** Types of the boxes of a fragmented film, and what stands in those of a fragment (ISO/IEC 14496-12 8.1.1, 8.2.1 and 8.8). */
export const MOOV = 0x6d6f6f76;
export const MOOF = 0x6d6f6f66;
export const MFHD = 0x6d666864;
const TRAF = 0x74726166;
const TFHD = 0x74666864;
export const TFDT = 0x74666474;
const TRUN = 0x7472756e;
export const MDAT = 0x6d646174;

/** Of a full box, in front of its flags: 64-bit times of a tfdt, signed composition offsets of a trun. */
const VERSION_1 = 0x01000000;
/** Of a tfhd: default-base-is-moof, default-sample-flags (8.8.7). */
const TRACK_FLAGS = 0x020020;

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

/** Numbers of one sample in a flat table. All times in ticks of the track's timescale. */
export const STRIDE = 5;
export const DTS = 0;
/** Presentation minus decode time, signed. */
export const CTS = 1;
/** Where its bytes begin in the run's `bytes`. */
export const OFFSET = 2;
export const SIZE = 3;
/** 1: a decoder can begin here. */
export const SYNC = 4;

/** The samples of one track that go into a fragment: the first `taken` of `table`, taken ≥ 0. */
export interface Run {
  readonly id: number;
  readonly isVideo: boolean;
  readonly table: Float64Array;
  readonly taken: number;
  /** Where the last taken sample ends, ticks: the decode time of the next fragment. */
  readonly until: number;
  /** What the offsets refer to. */
  readonly bytes: Uint8Array;
}

/** Exact size in bytes of what `writeFragment` writes for these runs. */
export function fragmentSize(runs: readonly Run[]): number {
  let size = headSize(runs);
  for (const run of runs) for (let i = 0; i < run.taken; i += 1) size += run.table[i * STRIDE + SIZE];
  return size;
}

/**
 * Writes moof and mdat (ISO/IEC 14496-12 8.8.4, 8.1.1) at `options.at` of `target`, one traf per run that has
 * samples, and returns where they end. `target` must have room for `fragmentSize`. Decode times are absolute
 * (tfdt version 1, 64 bit), composition offsets signed (trun version 1), data offsets from the moof.
 */
export function writeFragment(
  target: Uint8Array,
  options: { at: number; sequence: number; runs: readonly Run[] },
): number {
  const { at, sequence, runs } = options;
  const view = new DataView(target.buffer, target.byteOffset);
  const moofSize = headSize(runs) - 8;
  let data = at + moofSize + 8;
  writeHead(view, at, moofSize, MOOF);
  writeHead(view, at + 8, 16, MFHD);
  view.setUint32(at + 16, 0);
  view.setUint32(at + 20, sequence);
  let to = at + 24;
  for (const run of runs) {
    if (run.taken === 0) continue;
    writeTrackHead(view, { at: to, size: trafSize(run), run });
    to = writeRun(view, { at: to + TRACK_HEAD, run, first: 0, end: run.taken, data: data - at });
    data = copySamples(target, { data, run });
  }
  writeHead(view, to, data - to, MDAT);
  return data;
}

/** Bytes of a traf before its first trun, and of a trun before its rows. */
export const TRACK_HEAD = 48;
export const RUN_HEAD = 20;
/** Data offset, duration and size of each sample; of pictures flags and composition offset too. */
export const SOUND_RUN = VERSION_1 | DATA_OFFSET | DURATIONS | SIZES;
export const PICTURE_RUN = SOUND_RUN | FLAGS | SHIFTS;

/** Bytes of the row of a sample. */
export function rowBytes({ isVideo }: Pick<Run, 'isVideo'>): number {
  return isVideo ? 16 : 8;
}

/** The head of a traf of `size` bytes, tfhd and tfdt. */
export function writeTrackHead(
  view: DataView,
  { at, size, run }: { at: number; size: number; run: Omit<Run, 'bytes'> },
): void {
  writeHead(view, at, size, TRAF);
  writeHead(view, at + 8, 20, TFHD);
  view.setUint32(at + 16, TRACK_FLAGS);
  view.setUint32(at + 20, run.id);
  view.setUint32(at + 24, run.isVideo ? DEPENDS : INDEPENDENT);
  writeDecodeTime(view, at + 28, run.table[DTS]);
}

/** A trun of the samples `first` up to `end`, whose bytes begin at `data` from the moof on. Returns where it ends. */
export function writeRun(
  view: DataView,
  options: { at: number; run: Omit<Run, 'bytes'>; first: number; end: number; data: number },
): number {
  const { at, run, first, end, data } = options;
  const { table, taken, isVideo, until } = run;
  view.setUint32(at + 8, isVideo ? PICTURE_RUN : SOUND_RUN);
  view.setUint32(at + 12, end - first);
  view.setUint32(at + 16, data);
  let to = at + RUN_HEAD;
  for (let i = first; i < end; i += 1) {
    const row = i * STRIDE;
    const next = i + 1 < taken ? table[row + STRIDE + DTS] : until;
    view.setUint32(to, next - table[row + DTS]);
    view.setUint32(to + 4, table[row + SIZE]);
    if (isVideo) {
      view.setUint32(to + 8, table[row + SYNC] === 1 ? INDEPENDENT : DEPENDS);
      view.setInt32(to + 12, table[row + CTS]);
      to += 16;
    } else to += 8;
  }
  writeHead(view, at, to - at, TRUN);
  return to;
}

function copySamples(target: Uint8Array, options: { data: number; run: Run }): number {
  const { table, taken, bytes } = options.run;
  let { data } = options;
  for (let row = 0; row < taken * STRIDE; row += STRIDE) {
    copyBytes(bytes, table[row + OFFSET], target, data, table[row + SIZE]);
    data += table[row + SIZE];
  }
  return data;
}

function headSize(runs: readonly Run[]): number {
  let size = 8 + 16 + 8;
  for (const run of runs) if (run.taken > 0) size += trafSize(run);
  return size;
}

function trafSize(run: Run): number {
  return TRACK_HEAD + RUN_HEAD + run.taken * rowBytes(run);
}

/** The head of a box, 4.2: 8 bytes. */
export function writeHead(view: DataView, at: number, size: number, type: number): void {
  view.setUint32(at, size);
  view.setUint32(at + 4, type);
}

/** A tfdt with 64 bits (8.8.12), 20 bytes. `time` in ticks, whole and below 2^53. */
function writeDecodeTime(view: DataView, at: number, time: number): void {
  writeHead(view, at, 20, TFDT);
  view.setUint32(at + 8, VERSION_1);
  view.setUint32(at + 12, Math.floor(time / 0x100000000));
  view.setUint32(at + 16, time % 0x100000000);
}
