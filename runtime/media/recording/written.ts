import { open } from 'node:fs/promises';
import type { IndexedInit, IndexedSegment } from '../../../core/vod/segment-index.ts';
import { fileStream } from '../../drivers/blobs/fs/read.ts';
import type { WrittenTake } from './feed.ts';

/** Where the segments of a take lie, as the main thread keeps it: 48 bytes for each. */
export class Written implements WrittenTake {
  readonly inits: IndexedInit[] = [];
  count = 0;
  readonly #path: string;
  #rows = new Float64Array(ROW * 0x40);

  constructor(path: string) {
    this.#path = path;
  }

  segment(number: number): IndexedSegment {
    if (!(Number.isInteger(number) && number >= 0 && number < this.count)) {
      throw new RangeError(`there is no segment ${number}; there are ${this.count}`);
    }
    return segmentIn(this.#rows, number);
  }

  async read(
    from: number,
    to: number,
    signal?: AbortSignal,
  ): Promise<ReadableStream<Uint8Array> | undefined> {
    const handle = await open(this.#path).catch(() => undefined);
    return handle && fileStream(handle, { what: this.#path, from, to, ...(signal && { signal }) });
  }

  /** What the writing thread tells. What is known already, because it was told by one that ended, is passed over. */
  add(told: { inits: readonly IndexedInit[]; firstInit: number; rows: Float64Array; first: number }): void {
    told.inits.forEach((init, index) => {
      this.inits[told.firstInit + index] ??= init;
    });
    const known = this.count - told.first;
    const rows = known > 0 ? told.rows.subarray(known * ROW) : told.rows;
    const end = this.count * ROW + rows.length;
    if (end > this.#rows.length) {
      const larger = new Float64Array(Math.max(end, this.#rows.length * 2));
      larger.set(this.#rows);
      this.#rows = larger;
    }
    this.#rows.set(rows, this.count * ROW);
    this.count = end / ROW;
  }
}

/** @param file its segments from `first` on */
export function rowsOf(
  file: { readonly count: number; segment(number: number): IndexedSegment },
  first: number,
): Float64Array<ArrayBuffer> {
  const rows = new Float64Array(Math.max(0, file.count - first) * ROW);
  for (let number = first; number < file.count; number++) {
    const { at, size, duration, wallStart, init, isDiscontinuity } = file.segment(number);
    rows.set([at, size, duration, wallStart, init, Number(isDiscontinuity)], (number - first) * ROW);
  }
  return rows;
}

function segmentIn(rows: Float64Array, number: number): IndexedSegment {
  const value = (column: number) => rows[number * ROW + column] as number;
  return {
    at: value(0),
    size: value(1),
    duration: value(2),
    wallStart: value(3),
    init: value(4),
    isDiscontinuity: value(5) === 1,
  };
}

const ROW = 6;
