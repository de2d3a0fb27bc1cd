import { type Box, Children, checkTable, Fields, type Table } from './boxes.ts';
import { inspectionLimits } from './limits.ts';
import type { FragmentDefaults, Movie } from './movie.ts';
import { Refusal } from './refusal.ts';
import type { Track } from './track.ts';

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
        if (this.#samples > inspectionLimits.samples.value)
          throw new Refusal(`it has more than ${inspectionLimits.samples.value} samples`);
        const { ticks, bytes } = measure(run);
        dts += ticks;
        at = run.at + bytes;
        if (into === undefined || run.rows.count === 0) continue;
        this.#runs += 1;
        if (this.#runs > inspectionLimits.runs.value)
          throw new Refusal(`its fragments have more than ${inspectionLimits.runs.value} runs of samples`);
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
    const { sampleDuration, overlap } = inspectionLimits;
    if (gap > sampleDuration.value || gap < -overlap.value)
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
export function rowSize(flags: number): number {
  return [0x100, 0x200, 0x400, 0x800].reduce((size, flag) => size + ((flags & flag) === 0 ? 0 : 4), 0);
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
    ticks: total(0x100, rows.at, defaults.duration),
    bytes: total(0x200, rows.at + ((flags & 0x100) === 0 ? 0 : 4), defaults.size),
  };
}
