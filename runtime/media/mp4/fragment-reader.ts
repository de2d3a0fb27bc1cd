import {
  DATA_OFFSET,
  DURATIONS,
  FIRST_FLAGS,
  FLAGS,
  NON_SYNC,
  PICTURE_RUN,
  SHIFTS,
  SIZES,
  SOUND_RUN,
} from './fragment.ts';
import { type Box, Children, checkTable, Fields, Refusal, type Table } from './inspect/boxes.ts';
import type { SampleCursor } from './inspect/samples.ts';

/** Of a sample, where its fragment does not say (`trex`, ISO/IEC 14496-12 8.8.3). */
export interface SampleDefaults {
  readonly duration: number;
  readonly size: number;
  readonly flags: number;
  readonly entry: number;
}

/** The samples that a fragment has of one track in one `trun` box (8.8.8). They stay in the memory of the box. */
export interface FragmentRun {
  readonly track: number;
  readonly rows: Table;
  /** Which columns `rows` has: duration 0x100, size 0x200, flags 0x400, composition offset 0x800. */
  readonly flags: number;
  readonly defaults: SampleDefaults;
  /** Flags of the first sample; undefined: as the others. */
  readonly firstFlags: number | undefined;
  /** Place of its first byte. */
  readonly at: number;
  /** Of its first sample, ticks. */
  readonly dts: number;
  /** What all its samples last and have together. */
  readonly ticks: number;
  readonly bytes: number;
}

interface ReadOptions {
  /** Where the box begins; places are counted from there. */
  readonly at: number;
  /** Most samples: a row may take no bytes of the box. */
  readonly most: number;
  /** Undefined: there is no such track. `end`: ticks where its samples ended before. */
  trackOf(id: number): { readonly defaults: SampleDefaults; readonly end?: number | undefined } | undefined;
}

/** Runs in one fragment, with and without samples: usually one for each track. An object of each is made before any is used. */
const mostRuns = 100_000;

/** The runs of a `moof` box (8.8.4) in its order. It trusts no number: what does not fit throws Refusal. */
export function readFragment(moof: Box, options: ReadOptions): FragmentRun[] {
  const runs: FragmentRun[] = [];
  const ends = new Map<number, number>();
  let base = options.at;
  let left = options.most;
  for (const box of new Children(moof).all) {
    if (box.type !== 'traf') continue;
    const traf = new Children(box);
    const header = readHeader(traf.need('tfhd'), { ...options, base });
    const { track } = header;
    const tfdt = traf.find('tfdt');
    // Without a time it begins where the one before ended.
    let dts = tfdt ? readDecodeTime(tfdt) : (ends.get(track) ?? options.trackOf(track)?.end ?? 0);
    let place = header.base;
    for (const trun of traf.all) {
      if (trun.type !== 'trun') continue;
      const run = readRun(trun, { ...header, place, dts });
      left -= run.rows.count;
      if (left < 0) throw new Refusal(`it has more than ${options.most} samples`);
      if (runs.length === mostRuns) throw new Refusal(`a fragment has more than ${mostRuns} runs of samples`);
      const whole = { ...run, ...totalsOf(run) };
      runs.push(whole);
      dts += whole.ticks;
      place = whole.at + whole.bytes;
    }
    base = place;
    ends.set(track, dts);
  }
  return runs;
}

/** Track fragment header, 8.8.7. */
function readHeader(tfhd: Box, { at, base, trackOf }: ReadOptions & { readonly base: number }) {
  const fields = new Fields(tfhd);
  const { flags } = fields.full();
  const track = fields.u32();
  const known = trackOf(track)?.defaults;
  if (known === undefined)
    throw new Refusal(`the fragment at byte ${at} is of track ${track}, which its moov box does not have`);
  const isFromMoof = (flags & 0x020000) !== 0;
  const begin = (flags & 1) !== 0 ? fields.u64() : isFromMoof ? at : base;
  const entry = (flags & 2) !== 0 ? fields.u32() : known.entry;
  const duration = (flags & 8) !== 0 ? fields.u32() : known.duration;
  const size = (flags & 16) !== 0 ? fields.u32() : known.size;
  const sampleFlags = (flags & 32) !== 0 ? fields.u32() : known.flags;
  return { track, base: begin, defaults: { entry, duration, size, flags: sampleFlags } };
}

/** When a fragment begins, 8.8.12. */
function readDecodeTime(tfdt: Box): number {
  const fields = new Fields(tfdt);
  const time = fields.full().version === 1 ? fields.u64() : fields.u32();
  if (time > latest) throw new Refusal(`a fragment begins at ${time}`);
  return time;
}

/** No decode time is beyond it, so that sums stay whole numbers. */
const latest = 2 ** 52;

function readRun(
  trun: Box,
  options: Pick<FragmentRun, 'track' | 'dts' | 'defaults'> & { base: number; place: number },
): Omit<FragmentRun, 'ticks' | 'bytes'> {
  const { track, base, place, dts, defaults } = options;
  const fields = new Fields(trun);
  const { flags } = fields.full();
  const count = fields.u32();
  const at = (flags & DATA_OFFSET) !== 0 ? base + fields.i32() : place;
  const firstFlags = (flags & FIRST_FLAGS) !== 0 ? fields.u32() : undefined;
  const rows = checkTable(fields, { box: trun, row: rowSize(flags), count });
  return { track, rows, flags, defaults, firstFlags, at, dts };
}

/** Bytes of a row of a `trun` with these flags. */
export function rowSize(flags: number): number {
  return [DURATIONS, SIZES, FLAGS, SHIFTS].reduce((size, flag) => size + ((flags & flag) === 0 ? 0 : 4), 0);
}

/** A column that is not there costs nothing. */
function totalsOf({ rows, flags, defaults }: Pick<FragmentRun, 'rows' | 'flags' | 'defaults'>) {
  const { view, count } = rows;
  const row = rowSize(flags);
  const total = (flag: number, at: number, each: number): number => {
    if ((flags & flag) === 0) return each * count;
    let sum = 0;
    for (let i = 0; i < count; i += 1) sum += view.getUint32(at + i * row);
    return sum;
  };
  return {
    ticks: total(DURATIONS, rows.at, defaults.duration),
    bytes: total(SIZES, rows.at + ((flags & DURATIONS) === 0 ? 0 : 4), defaults.size),
  };
}

/** Goes through the samples of these runs. */
export class FragmentCursor implements SampleCursor {
  track = 0;
  at = 0;
  size = 0;
  dts = 0;
  duration = 0;
  shift = 0;
  isSync = true;
  entry = 0;
  readonly #runs: readonly FragmentRun[];
  #run = -1;
  #row = 0;
  #left = 0;
  #rowSize = 0;

  constructor(runs: readonly FragmentRun[]) {
    this.#runs = runs;
  }

  next(): boolean {
    const isFirst = this.#left === 0;
    if (isFirst && !this.#open()) return false;
    const run = this.#runs[this.#run];
    if (!isFirst) {
      this.at += this.size;
      this.dts += this.duration;
    }
    const { flags, defaults, rows } = run;
    let at = this.#row;
    this.duration = (flags & DURATIONS) === 0 ? defaults.duration : rows.view.getUint32(at);
    if ((flags & DURATIONS) !== 0) at += 4;
    this.size = (flags & SIZES) === 0 ? defaults.size : rows.view.getUint32(at);
    if ((flags & SIZES) !== 0) at += 4;
    let sampleFlags = (flags & FLAGS) === 0 ? defaults.flags : rows.view.getUint32(at);
    if ((flags & FLAGS) !== 0) at += 4;
    // Signed in version 0 too: muxers that write more than 2^31 there mean that.
    this.shift = (flags & SHIFTS) === 0 ? 0 : rows.view.getInt32(at);
    if (isFirst && run.firstFlags !== undefined) sampleFlags = run.firstFlags;
    this.isSync = (sampleFlags & NON_SYNC) === 0;
    this.#row += this.#rowSize;
    this.#left -= 1;
    return true;
  }

  #open(): boolean {
    do this.#run += 1;
    while (this.#runs[this.#run]?.rows.count === 0);
    const run = this.#runs[this.#run];
    if (run === undefined) return false;
    this.#row = run.rows.at;
    this.#rowSize = rowSize(run.flags);
    this.#left = run.rows.count;
    this.track = run.track;
    this.at = run.at;
    this.dts = run.dts;
    this.entry = run.defaults.entry;
    return true;
  }
}

/** A fragment that `fragment.ts` wrote. */
export interface OwnFragment {
  /** Their places count from the moof box. */
  readonly runs: readonly FragmentRun[];
  /** Bytes of the mdat that must follow, its header included. */
  readonly dataSize: number;
}

/** Reads the moof of `size` bytes at `at` of `view`, which the runs refer to. Undefined: it is damaged, or not ours. */
export function readOwnFragment(view: DataView, at: number, size: number): OwnFragment | undefined {
  const moof = { type: 'moof', view, from: at + 8, to: at + size };
  try {
    const runs = readFragment(moof, { at: 0, most: size, trackOf: () => ({ defaults: none }) });
    let data = size + 8;
    for (const run of runs) {
      // Side by side, so that a damaged number shows.
      const isOwn = ownColumns.has(run.flags) && run.track > 0 && run.rows.count > 0;
      if (!isOwn || run.at !== data) return undefined;
      data += run.bytes;
    }
    const dataSize = data - size;
    const isWhole = runs.length > 0 && runs.length <= mostTracks && dataSize <= 0xffffffff;
    return isWhole ? { runs, dataSize } : undefined;
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

const none = { duration: 0, size: 0, flags: 0, entry: 1 };
/** Without the version in front of the flags. */
const ownColumns: ReadonlySet<number> = new Set([SOUND_RUN & 0xffffff, PICTURE_RUN & 0xffffff]);

/** Tracks of an init segment or a fragment. The packager writes two. */
export const mostTracks = 8;
