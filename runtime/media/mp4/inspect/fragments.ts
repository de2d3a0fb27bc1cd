import { DURATIONS, FLAGS, NON_SYNC, SHIFTS, SIZES } from '../fragment-boxes.ts';
import { type Box, Children, checkTable, Fields, Refusal, type Table } from './boxes.ts';
import type { FragmentDefaults, Movie, Track } from './movie.ts';
import { maxSampleSeconds, maxSamples, type SampleCursor } from './samples.ts';

/** Most runs of samples in all fragments: usually one per track and fragment. */
const maxRuns = 500_000;
/** Seconds by which a fragment may begin before the end of the one before. */
const maxOverlapSeconds = 1;

/** Samples that a fragment has of one track: a `trun` box (ISO/IEC 14496-12 8.8.8), which lies in memory. */
export interface FragmentRun {
  readonly rows: Table;
  /** Which columns `rows` has: duration 0x100, size 0x200, flags 0x400, composition offset 0x800. */
  readonly flags: number;
  readonly defaults: FragmentDefaults;
  /** Flags of the first sample; undefined: as the others. */
  readonly firstFlags: number | undefined;
  /** Place of its first byte in the file. */
  readonly at: number;
  /** Of its first sample, ticks. */
  readonly dts: number;
}

/** What the fragments of a file have of one track. */
export interface FragmentedTrack {
  readonly track: Track;
  readonly runs: FragmentRun[];
  samples: number;
  /** Where the last sample ends, ticks; undefined: there is none yet. */
  end: number | undefined;
}

/** Takes up fragments in the order they lie in the file. */
export class Fragments {
  readonly #tracks = new Map<number, FragmentedTrack>();
  readonly #defaults: ReadonlyMap<number, FragmentDefaults>;
  readonly #ids: ReadonlySet<number>;
  #samples = 0;
  #runs = 0;

  /** @param ends ticks where the samples of the moov box end, of those tracks that have some there */
  constructor(movie: Movie, ends: ReadonlyMap<Track, number>) {
    for (const track of movie.tracks)
      this.#tracks.set(track.id, { track, runs: [], samples: 0, end: ends.get(track) });
    this.#defaults = movie.fragmentDefaults ?? new Map();
    this.#ids = movie.ids;
  }

  of(track: Track): FragmentedTrack | undefined {
    return this.#tracks.get(track.id);
  }

  /** @param options.at where the moof box begins in the file */
  add(moof: Box, options: { readonly at: number }): void {
    let base = options.at;
    for (const box of new Children(moof).all) {
      if (box.type !== 'traf') continue;
      const traf = new Children(box);
      const header = this.#header(traf.need('tfhd'), { moof: options.at, base });
      const into = this.#tracks.get(header.id);
      let dts = this.#begin(traf.find('tfdt'), into, options.at);
      let at = header.base;
      for (const trun of traf.all) {
        if (trun.type !== 'trun') continue;
        const run = readRun(trun, { ...header, at, dts });
        this.#samples += run.rows.count;
        if (this.#samples > maxSamples) throw new Refusal(`it has more than ${maxSamples} samples`);
        const { ticks, bytes } = measure(run);
        dts += ticks;
        at = run.at + bytes;
        if (into === undefined || run.rows.count === 0) continue;
        this.#runs += 1;
        if (this.#runs > maxRuns)
          throw new Refusal(`its fragments have more than ${maxRuns} runs of samples`);
        into.runs.push(run);
        into.samples += run.rows.count;
        into.end = dts;
      }
      base = at;
    }
  }

  /** Track fragment header, 8.8.7. */
  #header(tfhd: Box, options: { moof: number; base: number }) {
    const fields = new Fields(tfhd);
    const { flags } = fields.full();
    const id = fields.u32();
    if (!this.#ids.has(id))
      throw new Refusal(
        `the fragment at byte ${options.moof} is of track ${id}, which its moov box does not have`,
      );
    const known = this.#defaults.get(id) ?? { duration: 0, size: 0, flags: 0, entry: 1 };
    const isFromMoof = (flags & 0x020000) !== 0;
    const base = (flags & 1) !== 0 ? fields.u64() : isFromMoof ? options.moof : options.base;
    const entry = (flags & 2) !== 0 ? fields.u32() : known.entry;
    const duration = (flags & 8) !== 0 ? fields.u32() : known.duration;
    const size = (flags & 16) !== 0 ? fields.u32() : known.size;
    const sampleFlags = (flags & 32) !== 0 ? fields.u32() : known.flags;
    const entries = this.#tracks.get(id)?.track.entries.length;
    if (entries !== undefined && (entry < 1 || entry > entries))
      throw new Refusal(`the fragment at byte ${options.moof} names sample entry ${entry} of ${entries}`);
    return { id, base, defaults: { entry, duration, size, flags: sampleFlags } };
  }

  /** When the fragment begins (8.8.12), where the one before ended unless it says so. */
  #begin(tfdt: Box | undefined, into: FragmentedTrack | undefined, moof: number): number {
    const end = into?.end;
    if (tfdt === undefined) return end ?? 0;
    const fields = new Fields(tfdt);
    const dts = fields.full().version === 1 ? fields.u64() : fields.u32();
    if (into === undefined || end === undefined) return dts;
    const gap = (dts - end) / into.track.timescale;
    if (gap > maxSampleSeconds || gap < -maxOverlapSeconds)
      throw new Refusal(
        `the fragment at byte ${moof} begins ${Math.abs(gap).toFixed(1)} s ${gap > 0 ? 'after' : 'before'} the end of the one before`,
      );
    return dts;
  }
}

function readRun(
  trun: Box,
  options: { base: number; at: number; dts: number; defaults: FragmentDefaults },
): FragmentRun {
  const { base, at, dts, defaults } = options;
  const fields = new Fields(trun);
  const { flags } = fields.full();
  const count = fields.u32();
  const from = (flags & 1) !== 0 ? base + fields.i32() : at;
  const firstFlags = (flags & 4) !== 0 ? fields.u32() : undefined;
  const rows = checkTable(fields, { box: trun, row: rowSize(flags), count });
  return { rows, flags, defaults, firstFlags, at: from, dts };
}

/** Bytes of a row of a `trun` with these flags. */
function rowSize(flags: number): number {
  return [DURATIONS, SIZES, FLAGS, SHIFTS].reduce((size, flag) => size + ((flags & flag) === 0 ? 0 : 4), 0);
}

/** What all its samples last and have together. A column that is not there costs nothing. */
function measure({ rows, flags, defaults }: FragmentRun): { ticks: number; bytes: number } {
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

/** The samples of a track that lie in fragments. */
export class FragmentCursor implements SampleCursor {
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
    // None of the runs is empty.
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
    this.shift = (flags & SHIFTS) === 0 ? 0 : rows.view.getInt32(at);
    if (isFirst && run.firstFlags !== undefined) sampleFlags = run.firstFlags;
    this.isSync = (sampleFlags & NON_SYNC) === 0;
    this.#row += this.#rowSize;
    this.#left -= 1;
    return true;
  }

  #open(): boolean {
    this.#run += 1;
    const run = this.#runs[this.#run];
    if (run === undefined) return false;
    this.#row = run.rows.at;
    this.#rowSize = rowSize(run.flags);
    this.#left = run.rows.count;
    this.at = run.at;
    this.dts = run.dts;
    this.entry = run.defaults.entry;
    return true;
  }
}
