import { type IndexedSegment, rowOf, rowSize, segmentOf } from '../../../../core/vod/segment-index.ts';

/** Segments as rows of numbers: a day of them takes 1.7 MB and no objects. */
export class SegmentRows {
  #rows = new Float64Array(rowSize * 64);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  push(segment: IndexedSegment): void {
    this.#add(rowOf(segment));
  }

  /** Adds rows that `since` copied, the first of which has the number `first`. Those that are there already are skipped. */
  append(rows: Float64Array, first: number): void {
    this.#add(rows.subarray((this.#count - first) * rowSize));
  }

  /** A copy of the rows from `first` up to `end`. */
  since(first: number, end = this.#count): Float64Array<ArrayBuffer> {
    return this.#rows.slice(first * rowSize, end * rowSize);
  }

  /** The last segment has become longer. */
  extend(size: number, duration: number): void {
    const row = (this.#count - 1) * rowSize;
    this.#rows[row + SIZE] += size;
    this.#rows[row + DURATION] += duration;
  }

  /** RangeError when there is no segment of that number. */
  get(number: number): IndexedSegment {
    if (!(Number.isInteger(number) && number >= 0 && number < this.#count))
      throw new RangeError(`there is no segment ${number}; there are ${this.#count}`);
    return segmentOf(this.#rows, number);
  }

  all(): IndexedSegment[] {
    return Array.from({ length: this.#count }, (_, number) => segmentOf(this.#rows, number));
  }

  #add(rows: ArrayLike<number>): void {
    const end = this.#count * rowSize + rows.length;
    if (end > this.#rows.length) {
      const grown = new Float64Array(Math.max(end, this.#rows.length * 2));
      grown.set(this.#rows);
      this.#rows = grown;
    }
    this.#rows.set(rows, this.#count * rowSize);
    this.#count = end / rowSize;
  }
}

/** Columns. */
const SIZE = 1;
const DURATION = 2;
