import { type FragmentRun, rowSize } from './fragments.ts';
import type { SampleCursor } from './samples.ts';

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
    this.duration = (flags & 0x100) === 0 ? defaults.duration : rows.view.getUint32(at);
    if ((flags & 0x100) !== 0) at += 4;
    this.size = (flags & 0x200) === 0 ? defaults.size : rows.view.getUint32(at);
    if ((flags & 0x200) !== 0) at += 4;
    let sampleFlags = (flags & 0x400) === 0 ? defaults.flags : rows.view.getUint32(at);
    if ((flags & 0x400) !== 0) at += 4;
    this.shift = (flags & 0x800) === 0 ? 0 : rows.view.getInt32(at);
    if (isFirst && run.firstFlags !== undefined) sampleFlags = run.firstFlags;
    // sample_is_non_sync_sample, 8.8.3.1.
    this.isSync = (sampleFlags & 0x010000) === 0;
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
