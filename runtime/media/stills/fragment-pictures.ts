import {
  DATA_OFFSET,
  DURATIONS,
  FIRST_FLAGS,
  FLAGS,
  NON_SYNC,
  SHIFTS,
  SIZES,
  TFDT,
  TFHD,
  TRACK_DURATION,
  TRAF,
  TRUN,
} from '../mp4/fragment-boxes.ts';
import type { InitTrack } from '../recording/file/read-init.ts';

/** A picture of a fragment. Times in ticks of its track. */
export interface FragmentPicture {
  /** From the beginning of the `moof` on. */
  readonly at: number;
  readonly size: number;
  readonly dts: number;
  /** When it is shown. */
  readonly pts: number;
  readonly isSync: boolean;
}

export interface FragmentPictures {
  /** In the order of decoding. */
  readonly pictures: readonly FragmentPicture[];
  /** Where the sound begins, seconds; undefined: there is none. */
  readonly soundStart: number | undefined;
}

/**
 * The pictures of the fragment with this `moof` (ISO/IEC 14496-12 8.8.4), by the one video track of `tracks`. Undefined: that is no
 * such box, by whatever damage. It reads what this program writes in any of its ways, and believes no number of it.
 */
export function fragmentPictures(
  moof: Uint8Array,
  tracks: readonly InitTrack[],
): FragmentPictures | undefined {
  const view = new DataView(moof.buffer, moof.byteOffset, moof.length);
  let pictures: FragmentPicture[] = [];
  let soundStart: number | undefined;
  for (const traf of boxes(view, { from: 8, to: moof.length }) ?? []) {
    if (traf.type !== TRAF) continue;
    const read = readTrack(view, traf);
    const track = tracks.find(({ id }) => id === read?.track);
    if (read === undefined || track === undefined) return undefined;
    if (track.isVideo) pictures = read.samples;
    else soundStart = read.start / track.timescale;
  }
  return { pictures, soundStart };
}

interface Found {
  readonly type: number;
  readonly from: number;
  readonly to: number;
}

/** Undefined where boxes do not fill it. */
function boxes(view: DataView, { from, to }: { from: number; to: number }): Found[] | undefined {
  const found: Found[] = [];
  for (let at = from; at < to; ) {
    const size = at + 8 <= to ? view.getUint32(at) : 0;
    if (size < 8 || at + size > to) return undefined;
    found.push({ type: view.getUint32(at + 4), from: at + 8, to: at + size });
    at += size;
  }
  return found;
}

/** Track fragment, 8.8.6. */
function readTrack(view: DataView, traf: Found) {
  const samples: FragmentPicture[] = [];
  const inside = boxes(view, traf) ?? [];
  const header = inside.find(({ type }) => type === TFHD);
  const time = inside.find(({ type }) => type === TFDT);
  if (!header || !time || header.to - header.from < 8 || time.to - time.from < 12) return undefined;
  const defaults = readHeader(view, header);
  if (!defaults || view.getUint8(time.from) !== 1) return undefined;
  const start = view.getUint32(time.from + 4) * 0x1_0000_0000 + view.getUint32(time.from + 8);
  if (start > LATEST) return undefined;
  let dts = start;
  for (const run of inside) {
    if (run.type !== TRUN) continue;
    const end = readRun(view, { run, defaults, dts, samples });
    if (end === undefined) return undefined;
    dts = end;
  }
  return { track: defaults.track, start, samples };
}

/** No decode time is beyond it: sums stay whole numbers. */
const LATEST = 2 ** 52;

interface Defaults {
  readonly track: number;
  readonly duration: number;
  readonly size: number;
  readonly flags: number;
}

/** 8.8.7. Undefined where places do not count from the `moof`, or it is cut short. */
function readHeader(view: DataView, { from, to }: Found): Defaults | undefined {
  const flags = view.getUint32(from) & 0xffffff;
  if ((flags & BASE_OFFSET) !== 0 || (flags & FROM_MOOF) === 0) return undefined;
  let at = from + 8;
  const next = (flag: number) => {
    if ((flags & flag) === 0) return 0;
    at += 4;
    return at <= to ? view.getUint32(at - 4) : Number.NaN;
  };
  next(DESCRIPTION);
  const duration = next(TRACK_DURATION);
  const size = next(TRACK_SIZE);
  const defaults = { track: view.getUint32(from + 4), duration, size, flags: next(TRACK_SAMPLE_FLAGS) };
  return at <= to ? defaults : undefined;
}

const BASE_OFFSET = 0x1;
const DESCRIPTION = 0x2;
const TRACK_SIZE = 0x10;
const TRACK_SAMPLE_FLAGS = 0x20;
const FROM_MOOF = 0x20000;

/** 8.8.8. Adds its samples and answers where they end; undefined where it is cut short. */
function readRun(
  view: DataView,
  options: { run: Found; defaults: Defaults; dts: number; samples: FragmentPicture[] },
): number | undefined {
  const { run, defaults, samples } = options;
  if (run.to - run.from < 12) return undefined;
  const flags = view.getUint32(run.from) & 0xffffff;
  const count = view.getUint32(run.from + 4);
  if ((flags & DATA_OFFSET) === 0) return undefined;
  let place = view.getInt32(run.from + 8);
  let at = run.from + 12;
  let first: number | undefined;
  if ((flags & FIRST_FLAGS) !== 0) {
    if (at + 4 > run.to) return undefined;
    first = view.getUint32(at);
    at += 4;
  }
  const columns = [DURATIONS, SIZES, FLAGS, SHIFTS].filter((column) => (flags & column) !== 0).length;
  // Rows without a column would be as many as it says, of nothing.
  if ((columns === 0 && count > 1) || at + count * columns * 4 > run.to || place < 0) return undefined;
  let { dts } = options;
  for (let row = 0; row < count; row += 1) {
    const next = (column: number, otherwise: number) => {
      if ((flags & column) === 0) return otherwise;
      at += 4;
      return view.getUint32(at - 4);
    };
    const duration = next(DURATIONS, defaults.duration);
    const size = next(SIZES, defaults.size);
    const own = next(FLAGS, row === 0 && first !== undefined ? first : defaults.flags);
    const shift = next(SHIFTS, 0) | 0;
    samples.push({ at: place, size, dts, pts: dts + shift, isSync: (own & NON_SYNC) === 0 });
    place += size;
    dts += duration;
  }
  return dts;
}
