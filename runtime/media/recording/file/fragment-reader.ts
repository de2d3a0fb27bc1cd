import { PICTURE_RUN, SOUND_RUN } from '../../mp4/fragment.ts';
import { NON_SYNC, TFDT, TFHD, TRACK_FLAGS, TRAF, TRUN, VERSION_1 } from '../../mp4/fragment-boxes.ts';
import { mostTracks } from './read-init.ts';

/** Numbers of one sample in a flat table, times in ticks of its track. */
export const STRIDE = 4;
export const DURATION = 0;
export const SIZE = 1;
/** Presentation minus decode time, signed. */
export const CTS = 2;
/** 1: a decoder can begin here. */
export const SYNC = 3;

/** What one fragment holds of one track. */
export class ReadRun {
  track = 0;
  /** Decode time of its first sample, ticks. */
  start = 0;
  /** Its bytes lie here, from the moof on. */
  offset = 0;
  bytes = 0;
  /** Ticks that its samples last. */
  duration = 0;
  count = 0;
  table = new Float64Array(64 * STRIDE);
  flags = 0;
  /** Where `offset` and the rows of its samples stand, from the moof on. */
  offsetAt = 0;
  samplesAt = 0;
  /** Bytes of such a row. */
  width = 0;
}

/**
 * Reads the moof of a fragment that `mp4/fragment.ts` wrote, into tables that are reused. Anything else, however damaged, is
 * refused.
 */
export class FragmentReader {
  /** The first `count` of `runs` are of the fragment read last. */
  count = 0;
  readonly runs: ReadRun[] = [];
  /** Bytes of the mdat that must follow, its header included. */
  dataSize = 0;

  /** A moof of `size` bytes lies at `at` of `view`. False: it is none. */
  read(view: DataView, at: number, size: number): boolean {
    this.count = 0;
    this.dataSize = 8;
    const end = at + size;
    for (let next = at + 8; next < end; ) {
      const length = boxSize(view, next, end);
      if (length === 0) return false;
      if (view.getUint32(next + 4) === TRAF && !this.#readTrack(view, next, length)) return false;
      next += length;
    }
    let data = size + 8;
    for (let i = 0; i < this.count; i += 1) {
      const run = this.runs[i];
      run.offsetAt -= at;
      run.samplesAt -= at;
      // Side by side, so that a damaged number shows.
      if (run.offset !== data) return false;
      data += run.bytes;
    }
    this.dataSize = data - size;
    return this.count > 0 && this.dataSize <= 0xffffffff;
  }

  #readTrack(view: DataView, at: number, size: number): boolean {
    if (this.count === mostTracks) return false;
    this.runs[this.count] ??= new ReadRun();
    const run = this.runs[this.count];
    run.track = 0;
    run.start = -1;
    run.count = 0;
    const end = at + size;
    for (let next = at + 8; next < end; ) {
      const length = boxSize(view, next, end);
      if (length === 0) return false;
      const type = view.getUint32(next + 4);
      if (type === TFHD) {
        if (length !== 20 || view.getUint32(next + 8) !== TRACK_FLAGS) return false;
        run.track = view.getUint32(next + 12);
        run.flags = view.getUint32(next + 16);
      } else if (type === TFDT) {
        if (length !== 20 || view.getUint32(next + 8) !== VERSION_1) return false;
        run.start = view.getUint32(next + 12) * 0x1_0000_0000 + view.getUint32(next + 16);
      } else if (type === TRUN) {
        if (run.start < 0 || run.count > 0 || !readSamples(run, view, next, length)) return false;
      }
      next += length;
    }
    if (run.track === 0 || run.count === 0 || !(run.start <= LATEST)) return false;
    this.count += 1;
    return true;
  }
}

/** No decode time is beyond it: sums stay whole numbers. */
const LATEST = 2 ** 52;

/** A trun, 8.8.8. */
function readSamples(run: ReadRun, view: DataView, at: number, size: number): boolean {
  if (size < 20) return false;
  const kind = view.getUint32(at + 8);
  const isVideo = kind === PICTURE_RUN;
  if (!isVideo && kind !== SOUND_RUN) return false;
  const width = isVideo ? 16 : 8;
  const count = view.getUint32(at + 12);
  if (count === 0 || size !== 20 + count * width) return false;
  if (run.table.length < count * STRIDE) run.table = new Float64Array(count * STRIDE * 2);
  const { table } = run;
  const isSync = (run.flags & NON_SYNC) === 0 ? 1 : 0;
  let bytes = 0;
  let duration = 0;
  let from = at + 20;
  for (let row = 0; row < count * STRIDE; row += STRIDE) {
    table[row + DURATION] = view.getUint32(from);
    table[row + SIZE] = view.getUint32(from + 4);
    table[row + SYNC] = isVideo ? Number((view.getUint32(from + 8) & NON_SYNC) === 0) : isSync;
    table[row + CTS] = isVideo ? view.getInt32(from + 12) : 0;
    duration += table[row + DURATION];
    bytes += table[row + SIZE];
    from += width;
  }
  run.offset = view.getUint32(at + 16);
  run.offsetAt = at + 16;
  run.samplesAt = at + 20;
  run.width = width;
  run.bytes = bytes;
  run.duration = duration;
  run.count = count;
  return true;
}

/** Of the box at `at`, which must end by `end`; 0 when there is none. */
function boxSize(view: DataView, at: number, end: number): number {
  if (at + 8 > end) return 0;
  const size = view.getUint32(at);
  return size >= 8 && at + size <= end ? size : 0;
}
