import { CTS, DURATION, type ReadRun, STRIDE } from '../../recording/file/fragment-reader.ts';

/**
 * When the pictures of a run are decoded and shown, so that a picture that comes back is put where its source was. All in ticks
 * of 1/90000 s.
 *
 * The source may have B-frames: its pictures are shown in another order than they are decoded. Renditions have none, so their
 * pictures come in the order in which they are shown. The nth of a segment takes the nth time of decoding of the source's
 * segment, whichever picture that was of. So a rendition has just the times of decoding that the source has, and with them
 * the same parts and segments, however unevenly pictures come.
 *
 * What a segment begins with is its key frame. Pictures behind it that are shown before it (open GOP) belong to the segment before:
 * nothing can begin with them.
 */
export class PictureOrder {
  readonly #segments: Ordered[] = [];
  /** Of the picture found last: when it is decoded, and where its segment ends as far as it is known. */
  time = 0;
  end = 0;
  /** When the last of all pictures is shown. */
  latest = Number.NEGATIVE_INFINITY;

  /** The pictures of the part that follows, in the order in which they are decoded. */
  add(sequence: number, run: ReadRun): void {
    let segment = this.#segments[this.#segments.length - 1];
    if (segment?.sequence !== sequence) {
      segment = { sequence, first: run.start + run.table[CTS], shown: [], decoded: [], end: 0 };
      this.#segments.push(segment);
    }
    let decoded = run.start;
    for (let row = 0; row < run.count * STRIDE; row += STRIDE) {
      const shown = decoded + run.table[row + CTS];
      segment.decoded.push(decoded);
      if (shown >= segment.first) insert(segment.shown, shown);
      if (shown > this.latest) this.latest = shown;
      decoded += run.table[row + DURATION];
    }
    segment.end = decoded;
  }

  /**
   * Finds the place of the picture that is shown at `shown`: sets `time` and `end`. False: it is shown before all there is. All
   * that is shown before it must have been added: a decoder gives nothing out before it has that.
   */
  find(shown: number): boolean {
    let at = this.#segments.length - 1;
    while (at >= 0 && this.#segments[at].first > shown) at -= 1;
    if (at < 0) return false;
    const segment = this.#segments[at];
    const { decoded } = segment;
    const nth = countUpTo(segment.shown, shown) - 1;
    const time = decoded[nth] + (shown - segment.shown[nth]);
    const next = nth + 1 < segment.shown.length ? decoded[nth + 1] : segment.end;
    this.time = Math.min(time, next - 1);
    this.end = segment.end;
    return true;
  }

  /** When the last picture is shown that is decoded before `time`. */
  shownBefore(time: number): number {
    for (let at = this.#segments.length - 1; at >= 0; at -= 1) {
      const { decoded, shown } = this.#segments[at];
      if (decoded[0] >= time) continue;
      const count = countUpTo(decoded, time - 1);
      return shown[Math.min(count, shown.length) - 1];
    }
    return Number.NEGATIVE_INFINITY;
  }

  /** Segments before this one are asked for no more. */
  forget(sequence: number): void {
    while (this.#segments.length > 1 && this.#segments[0].sequence < sequence) this.#segments.shift();
  }
}

interface Ordered {
  readonly sequence: number;
  /** When its first picture is shown. */
  readonly first: number;
  /** When its pictures are shown, in that order; without those that are shown before the first. */
  readonly shown: number[];
  /** When they are decoded, all of them. */
  readonly decoded: number[];
  end: number;
}

/** Near the end mostly: pictures are seldom far from their place. */
function insert(sorted: number[], value: number): void {
  let at = sorted.length;
  while (at > 0 && sorted[at - 1] > value) at -= 1;
  if (at === sorted.length) sorted.push(value);
  else sorted.splice(at, 0, value);
}

/** How many are not above `value`. */
function countUpTo(sorted: readonly number[], value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
