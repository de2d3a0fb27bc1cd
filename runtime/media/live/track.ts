import { CTS, DTS, OFFSET, type Run, SIZE, STRIDE, SYNC } from '../mp4/fragment.ts';
import type { Arena } from '../publish/sink.ts';

/** Numbers of the tracks in what the packager writes. */
export const VIDEO_TRACK = 1;
export const AUDIO_TRACK = 2;

/**
 * The samples of one track that wait for their part: a flat table of numbers over bytes that stay in the
 * arena. The last sample's duration is not known before the next comes, so a part takes all but it.
 */
export class Track implements Run {
  readonly id: number;
  readonly isVideo: boolean;
  readonly arena: Arena;
  /** Ticks per second. */
  timescale: number;
  table = new Float64Array(64 * STRIDE);
  count = 0;
  taken = 0;
  until = 0;
  /** Duration of a sample of which nothing better is known, ticks. */
  usual: number;
  /** Decode time of the newest sample; -1 before any. */
  newest = -1;
  readonly #limit: number;

  /** @param limit most samples that may wait. */
  constructor(options: { id: number; isVideo: boolean; arena: Arena; timescale: number; limit: number }) {
    this.id = options.id;
    this.isVideo = options.isVideo;
    this.arena = options.arena;
    this.timescale = options.timescale;
    this.usual = options.timescale / 30;
    this.#limit = options.limit;
  }

  get bytes(): Uint8Array {
    return this.arena.bytes;
  }

  dts(index: number): number {
    return this.table[index * STRIDE + DTS];
  }

  /** Composition offset, ticks. */
  cts(index: number): number {
    return this.table[index * STRIDE + CTS];
  }

  isSync(index: number): boolean {
    return this.table[index * STRIDE + SYNC] === 1;
  }

  /** Whether a key frame is among the samples marked for the next fragment. */
  get isSyncTaken(): boolean {
    for (let i = 0; i < this.taken; i += 1) if (this.isSync(i)) return true;
    return false;
  }

  /** Appends a sample. False when there are too many. */
  push(dts: number, cts: number, offset: number, size: number, sync: number): boolean {
    if (this.count === this.#limit) return false;
    let row = this.count * STRIDE;
    if (row === this.table.length) {
      const grown = new Float64Array(row * 2);
      grown.set(this.table);
      this.table = grown;
    }
    this.table[row++] = dts;
    this.table[row++] = cts;
    this.table[row++] = offset;
    this.table[row++] = size;
    this.table[row] = sync;
    this.count += 1;
    this.newest = dts;
    return true;
  }

  /** Marks for the next fragment the samples that begin before `end` ticks and whose own end is known. */
  takeBefore(end: number): void {
    let taken = 0;
    while (taken + 1 < this.count && this.dts(taken) < end) taken += 1;
    this.taken = taken;
    if (taken > 0) this.until = this.dts(taken);
  }

  /** Marks all; the last one ends at `end`, or after the usual time when `end` is not after it. */
  takeAll(end: number): void {
    this.taken = this.count;
    if (this.count > 0)
      this.until = end > this.newest ? end : this.newest + Math.max(1, Math.round(this.usual));
  }

  /** When the next sample begins, ticks: behind the newest, or at `time` (ms) where that is off by more than `tolerance` seconds. */
  nextDts(time: number, tolerance: number): number {
    const { newest, usual, timescale } = this;
    const claimed = (time * timescale) / 1000;
    if (newest < 0) return Math.round(claimed);
    const isOff = Math.abs(claimed - newest - usual) > tolerance * timescale;
    return isOff ? Math.max(Math.round(claimed), newest + 1) : newest + usual;
  }

  /** Forgets the samples that begin before `time` milliseconds. Returns by how much the arena moved. */
  dropBefore(time: number): number {
    const before = (time * this.timescale) / 1000;
    let taken = 0;
    while (taken < this.count && this.dts(taken) < before) taken += 1;
    this.taken = taken;
    return this.forget();
  }

  /** Forgets the taken samples and gives their bytes back. Returns by how much the arena moved. */
  forget(): number {
    const count = this.taken;
    this.taken = 0;
    if (count === 0) return 0;
    const last = (count - 1) * STRIDE;
    const shift = this.table[last + OFFSET] + this.table[last + SIZE];
    this.arena.release(shift);
    this.table.copyWithin(0, count * STRIDE, this.count * STRIDE);
    this.count -= count;
    for (let i = 0; i < this.count; i += 1) this.table[i * STRIDE + OFFSET] -= shift;
    return shift;
  }
}
