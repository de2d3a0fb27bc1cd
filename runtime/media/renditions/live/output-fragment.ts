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
  TRAF,
  TRUN,
} from '../../mp4/fragment-boxes.ts';
import { LadderBroken } from '../ladder.ts';
import type { OutputTrack } from './output-movie.ts';

/** Numbers of one picture in a flat table. */
export const STRIDE = 5;
export const TRACK = 0;
/** When it is shown, ticks. */
export const SHOWN = 1;
/** Where its bytes begin, from the `moof` box on. */
export const OFFSET = 2;
export const SIZE = 3;
/** 1: a decoder can begin here. */
export const SYNC = 4;

/** Reads a `moof` box (ISO/IEC 14496-12 8.8.4) into a table that is used again. */
export class OutputFragment {
  table = new Float64Array(8 * STRIDE);
  count = 0;
  readonly #limit: number;
  #track = 0;
  #time = 0;
  #hasTime = false;
  #duration = 0;
  #size = 0;
  #flags = 0;
  /** Where the next run lies unless it says so; -1: it must. */
  #data = -1;

  /** @param options.pictures most that one may have */
  constructor(options: { pictures: number }) {
    this.#limit = options.pictures;
  }

  /** A box of `size` bytes lies in front of `view`. Pictures must lie one behind the other, in the order of the box. */
  read(view: DataView, size: number, tracks: readonly OutputTrack[]): void {
    this.count = 0;
    for (let at = 8; at < size; ) {
      const end = endOf(view, at, size);
      if (view.getUint32(at + 4) === TRAF) this.#readTrack(view, at, end, tracks);
      at = end;
    }
    let data = size + 8;
    for (let row = 0; row < this.count * STRIDE; row += STRIDE) {
      if (this.table[row + OFFSET] < data)
        throw new LadderBroken('pictures of a fragment lie over each other');
      data = this.table[row + OFFSET] + this.table[row + SIZE];
    }
  }

  #readTrack(view: DataView, from: number, to: number, tracks: readonly OutputTrack[]): void {
    this.#track = -1;
    this.#hasTime = false;
    this.#data = -1;
    for (let at = from + 8; at < to; ) {
      const end = endOf(view, at, to);
      const type = view.getUint32(at + 4);
      if (type === TFHD) this.#readHeader(view, at, end, tracks);
      else if (type === TFDT) this.#readTime(view, at, end);
      else if (type === TRUN) this.#readRun(view, at, end);
      at = end;
    }
  }

  /** Track fragment header, 8.8.7. */
  #readHeader(view: DataView, from: number, to: number, tracks: readonly OutputTrack[]): void {
    need(from + 16 <= to, 'tfhd');
    const flags = view.getUint32(from + 8) & 0xffffff;
    const id = view.getUint32(from + 12);
    const track = tracks[id - 1];
    if (track === undefined) throw new LadderBroken(`a fragment is of track ${id}`);
    if ((flags & 1) !== 0 || (flags & FROM_MOOF) === 0)
      throw new LadderBroken('a fragment does not count its data from its own beginning');
    let at = from + 16 + ((flags & 2) === 0 ? 0 : 4);
    const field = (flag: number, otherwise: number): number => {
      if ((flags & flag) === 0) return otherwise;
      need(at + 4 <= to, 'tfhd');
      at += 4;
      return view.getUint32(at - 4);
    };
    this.#track = id - 1;
    this.#duration = field(0x8, track.duration);
    this.#size = field(0x10, track.size);
    this.#flags = field(0x20, track.flags);
  }

  /** Decode time, 8.8.12. */
  #readTime(view: DataView, from: number, to: number): void {
    need(from + 16 <= to, 'tfdt');
    const isLong = view.getUint8(from + 8) === 1;
    need(!isLong || from + 20 <= to, 'tfdt');
    const high = isLong ? view.getUint32(from + 12) : 0;
    this.#time = high * 0x1_0000_0000 + view.getUint32(from + (isLong ? 16 : 12));
    if (this.#time > LATEST) throw new LadderBroken(`a fragment begins at ${this.#time}`);
    this.#hasTime = true;
  }

  /** A run of pictures, 8.8.8. */
  #readRun(view: DataView, from: number, to: number): void {
    need(from + 16 <= to, 'trun');
    if (this.#track < 0 || !this.#hasTime) throw new LadderBroken('a run of pictures stands before its head');
    const version = view.getUint8(from + 8);
    const flags = view.getUint32(from + 8) & 0xffffff;
    const count = view.getUint32(from + 12);
    let at = from + 16;
    if ((flags & DATA_OFFSET) !== 0) {
      need(at + 4 <= to, 'trun');
      this.#data = view.getInt32(at);
      at += 4;
    }
    if (this.#data < 0) throw new LadderBroken('a run of pictures does not say where they lie');
    let first = -1;
    if ((flags & FIRST_FLAGS) !== 0) {
      need(at + 4 <= to, 'trun');
      first = view.getUint32(at);
      at += 4;
    }
    const columns = COLUMNS.reduce((sum, flag) => sum + ((flags & flag) === 0 ? 0 : 1), 0);
    if (this.count + count > this.#limit)
      throw new LadderBroken(`a fragment has more than ${this.#limit} pictures`);
    need(at + count * columns * 4 <= to, 'trun');
    for (let i = 0; i < count; i += 1) {
      const duration = (flags & DURATIONS) === 0 ? this.#duration : view.getUint32(at);
      if ((flags & DURATIONS) !== 0) at += 4;
      const size = (flags & SIZES) === 0 ? this.#size : view.getUint32(at);
      if ((flags & SIZES) !== 0) at += 4;
      let own = i === 0 && first >= 0 ? first : this.#flags;
      if ((flags & FLAGS) !== 0) {
        own = view.getUint32(at);
        at += 4;
      }
      let shift = 0;
      if ((flags & SHIFTS) !== 0) {
        shift = version === 0 ? view.getUint32(at) : view.getInt32(at);
        at += 4;
      }
      this.#add(size, shift, (own & NON_SYNC) === 0);
      this.#time += duration;
    }
  }

  #add(size: number, shift: number, isSync: boolean): void {
    if (size === 0) throw new LadderBroken('a picture has no bytes');
    let row = this.count * STRIDE;
    if (row === this.table.length) {
      const grown = new Float64Array(row * 2);
      grown.set(this.table);
      this.table = grown;
    }
    this.table[row++] = this.#track;
    this.table[row++] = this.#time + shift;
    this.table[row++] = this.#data;
    this.table[row++] = size;
    this.table[row] = isSync ? 1 : 0;
    this.count += 1;
    this.#data += size;
  }
}

/** Of a tfhd: default-base-is-moof. */
const FROM_MOOF = 0x020000;
const COLUMNS = [DURATIONS, SIZES, FLAGS, SHIFTS];
/** No time is beyond it: sums stay whole numbers. */
const LATEST = 2 ** 52;

/** Where the box at `at` ends, by `to` at the latest. */
function endOf(view: DataView, at: number, to: number): number {
  const size = at + 8 <= to ? view.getUint32(at) : 0;
  if (size < 8 || at + size > to) throw new LadderBroken('a box in a fragment has a wrong size');
  return at + size;
}

function need(isThere: boolean, box: string): void {
  if (!isThere) throw new LadderBroken(`a ${box} box is cut short`);
}
