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
} from './fragment-boxes.ts';

/** Columns of a row, the numbers of one sample. Times in ticks of its track. */
export const STRIDE = 6;
/** Id of its track. */
export const TRACK = 0;
/** When it is decoded. */
export const DTS = 1;
/** When it is shown. */
export const PTS = 2;
/** Where its bytes begin, from the `moof` box on. */
export const OFFSET = 3;
export const SIZE = 4;
/** 1: a decoder can begin here. */
export const SYNC = 5;

/** Of a sample, where its fragment does not say (`trex`, ISO/IEC 14496-12 8.8.3). */
export interface SampleDefaults {
  readonly duration: number;
  readonly size: number;
  readonly flags: number;
}

/**
 * Reads `moof` boxes (ISO/IEC 14496-12 8.8.4) whose data offsets count from the box itself, as every modern writer does. It trusts no
 * number: what does not fit throws RangeError. The table is reused by the next read.
 */
export class FragmentSamples {
  /** `count` rows, in the order of the box. */
  table = new Float64Array(8 * STRIDE);
  count = 0;
  readonly #most: number;

  /** @param options `most`: samples of one fragment */
  constructor(options: { most: number }) {
    this.#most = options.most;
  }

  /** The box is the first `size` bytes of `view`. `defaultsOf` by track id; undefined: there is no such track. */
  read(view: DataView, size: number, defaultsOf: (track: number) => SampleDefaults | undefined): void {
    this.count = 0;
    for (const traf of boxesIn(view, 8, size))
      if (traf.type === TRAF) this.#readTrack(view, traf, defaultsOf);
  }

  #readTrack(view: DataView, traf: Found, defaultsOf: (track: number) => SampleDefaults | undefined): void {
    let header: Header | undefined;
    let time: number | undefined;
    // Where the next run lies unless it says so; -1: it must say so.
    let data = -1;
    for (const box of boxesIn(view, traf.from, traf.to)) {
      if (box.type === TFHD) header = readHeader(view, box, defaultsOf);
      else if (box.type === TFDT) time = readTime(view, box);
      else if (box.type === TRUN) {
        if (header === undefined || time === undefined)
          throw new RangeError('a trun box stands before tfhd or tfdt');
        ({ time, data } = this.#readRun(view, box, { header, time, data }));
      }
    }
  }

  /** 8.8.8. Returns where the next run goes on. */
  #readRun(
    view: DataView,
    { from, to }: Found,
    state: { header: Header; time: number; data: number },
  ): { time: number; data: number } {
    const { header } = state;
    let { time, data } = state;
    need(from + 8 <= to, 'trun');
    const isSigned = view.getUint8(from) !== 0;
    const flags = view.getUint32(from) & 0xffffff;
    const count = view.getUint32(from + 4);
    let at = from + 8;
    const next = (flag: number): number | undefined => {
      if ((flags & flag) === 0) return undefined;
      need(at + 4 <= to, 'trun');
      at += 4;
      return view.getUint32(at - 4);
    };
    const offset = next(DATA_OFFSET);
    if (offset !== undefined) data = offset | 0;
    if (data < 0) throw new RangeError('a trun box does not say where its samples lie');
    const first = next(FIRST_FLAGS);
    if (this.count + count > this.#most)
      throw new RangeError(`a fragment has more than ${this.#most} samples`);
    for (let row = 0; row < count; row += 1) {
      const duration = next(DURATIONS) ?? header.duration;
      const size = next(SIZES) ?? header.size;
      const own = next(FLAGS) ?? (row === 0 ? first : undefined) ?? header.flags;
      const shift = next(SHIFTS) ?? 0;
      const pts = time + (isSigned ? shift | 0 : shift);
      this.#add(header.track, time, pts, data, size, (own & NON_SYNC) === 0);
      time += duration;
      data += size;
    }
    return { time, data };
  }

  /** Many arguments, as this runs for every sample and an object for each would be garbage. */
  #add(track: number, dts: number, pts: number, offset: number, size: number, isSync: boolean): void {
    const row = this.count * STRIDE;
    if (row === this.table.length) {
      const grown = new Float64Array(row * 2);
      grown.set(this.table);
      this.table = grown;
    }
    const { table } = this;
    table[row + TRACK] = track;
    table[row + DTS] = dts;
    table[row + PTS] = pts;
    table[row + OFFSET] = offset;
    table[row + SIZE] = size;
    table[row + SYNC] = isSync ? 1 : 0;
    this.count += 1;
  }
}

interface Header extends SampleDefaults {
  readonly track: number;
}

/** 8.8.7. */
function readHeader(
  view: DataView,
  { from, to }: Found,
  defaultsOf: (track: number) => SampleDefaults | undefined,
): Header {
  need(from + 8 <= to, 'tfhd');
  const flags = view.getUint32(from) & 0xffffff;
  const track = view.getUint32(from + 4);
  const known = defaultsOf(track);
  if (known === undefined) throw new RangeError(`a fragment is of track ${track}`);
  if ((flags & BASE_OFFSET) !== 0 || (flags & FROM_MOOF) === 0)
    throw new RangeError('a fragment does not count its data from its own beginning');
  let at = from + 8;
  const next = (flag: number): number | undefined => {
    if ((flags & flag) === 0) return undefined;
    need(at + 4 <= to, 'tfhd');
    at += 4;
    return view.getUint32(at - 4);
  };
  next(DESCRIPTION);
  const duration = next(TRACK_DURATION) ?? known.duration;
  const size = next(TRACK_SIZE) ?? known.size;
  return { track, duration, size, flags: next(TRACK_SAMPLE_FLAGS) ?? known.flags };
}

const BASE_OFFSET = 0x1;
const DESCRIPTION = 0x2;
const TRACK_SIZE = 0x10;
const TRACK_SAMPLE_FLAGS = 0x20;
const FROM_MOOF = 0x20000;

/** Decode time, 8.8.12. */
function readTime(view: DataView, { from, to }: Found): number {
  need(from + 8 <= to, 'tfdt');
  if (view.getUint8(from) !== 1) return view.getUint32(from + 4);
  need(from + 12 <= to, 'tfdt');
  const time = view.getUint32(from + 4) * 0x1_0000_0000 + view.getUint32(from + 8);
  if (time > LATEST) throw new RangeError(`a fragment begins at ${time}`);
  return time;
}

/** No decode time is beyond it, so that sums stay whole numbers. */
const LATEST = 2 ** 52;

interface Found {
  readonly type: number;
  /** Its payload. */
  readonly from: number;
  readonly to: number;
}

function boxesIn(view: DataView, from: number, to: number): Found[] {
  const found: Found[] = [];
  for (let at = from; at < to; ) {
    const size = at + 8 <= to ? view.getUint32(at) : 0;
    if (size < 8 || at + size > to) throw new RangeError('a box in a fragment has a wrong size');
    found.push({ type: view.getUint32(at + 4), from: at + 8, to: at + size });
    at += size;
  }
  return found;
}

function need(isThere: boolean, box: string): void {
  if (!isThere) throw new RangeError(`a ${box} box is cut short`);
}
