import { FragmentCursor, type FragmentRun } from '../../mp4/fragment-reader.ts';
import { LadderBroken } from '../ladder.ts';

/** Pictures whose times are remembered. */
const maxRemembered = 65_536;

/**
 * When the pictures of a run are decoded and shown, so that a picture that comes back is put where its source was. All in ticks
 * of 1/90000 s.
 *
 * The source may have B-frames: its pictures are shown in another order than they are decoded. Renditions have none, so their
 * pictures come in the order in which they are shown. The nth of them takes the nth time of decoding of the source, whichever
 * picture that was of. So a rendition has just the times of decoding that the source has, and with them the same parts and
 * segments, however unevenly pictures come.
 *
 * It is counted from each segment that begins with a key frame. Pictures behind that which are shown before it (open GOP)
 * belong to what comes before: nothing can begin with them.
 */
export class PictureOrder {
  readonly #groups: Group[] = [];
  /** Times of decoding that are kept. */
  #count = 0;
  /** Of the picture found last: when it is decoded, and when the first one that is counted anew, as far as is known. */
  time = 0;
  end = 0;
  /** When the last of all pictures is shown. */
  latest = Number.NEGATIVE_INFINITY;

  /**
   * The pictures of the part that follows, in the order in which they are decoded. LadderBroken: there are too many of which nothing
   * can be forgotten, such as where no key frame follows and all pictures are to be shown before the first.
   */
  add(run: FragmentRun, { startsSegment }: { startsSegment: boolean }): void {
    this.#count += run.rows.count;
    if (this.#count > maxRemembered)
      throw new LadderBroken(`the places of more than ${maxRemembered} pictures would have to be remembered`);
    const cursor = new FragmentCursor([run]);
    let group = this.#groups[this.#groups.length - 1];
    for (let isFirst = true; cursor.next(); isFirst = false) {
      const { dts } = cursor;
      const shown = dts + cursor.shift;
      if (group === undefined || (isFirst && startsSegment && cursor.isSync)) {
        group = { first: shown, shown: [], decoded: [], end: 0 };
        this.#groups.push(group);
      }
      group.decoded.push(dts);
      if (shown >= group.first) insert(group.shown, shown);
      if (shown > this.latest) this.latest = shown;
    }
    if (group !== undefined) group.end = run.dts + run.ticks;
  }

  /**
   * Finds the place of the picture that is shown at `shown`: sets `time` and `end`. False: it is shown before all there is. All
   * that is shown before it must have been added: a decoder gives nothing out before it has that.
   */
  find(shown: number): boolean {
    let at = this.#groups.length - 1;
    while (at >= 0 && this.#groups[at].first > shown) at -= 1;
    if (at < 0) return false;
    const group = this.#groups[at];
    const { decoded } = group;
    // Those before may be forgotten.
    const nth = Math.max(1, countUpTo(group.shown, shown)) - 1;
    const time = decoded[nth] + Math.max(0, shown - group.shown[nth]);
    const next = nth + 1 < group.shown.length ? decoded[nth + 1] : group.end;
    this.time = Math.min(time, next - 1);
    this.end = group.end;
    return true;
  }

  /** When the last picture is shown that is decoded before `time`. */
  shownBefore(time: number): number {
    for (let at = this.#groups.length - 1; at >= 0; at -= 1) {
      const { decoded, shown } = this.#groups[at];
      if (decoded[0] >= time) continue;
      const count = countUpTo(decoded, time - 1);
      return shown[Math.min(count, shown.length) - 1];
    }
    return Number.NEGATIVE_INFINITY;
  }

  /** What is decoded before `time` is asked for no more, but for the last of it. */
  forget(time: number): void {
    while (this.#groups.length > 1 && this.#groups[0].end < time)
      this.#count -= this.#groups.shift()?.decoded.length ?? 0;
    const [group] = this.#groups;
    if (group === undefined || group.decoded.length < MANY) return;
    const count = Math.min(countUpTo(group.decoded, time - 1), group.shown.length) - 1;
    if (count < MANY) return;
    this.#count -= count;
    group.decoded.splice(0, count);
    group.shown.splice(0, count);
  }
}

/** Pictures that are counted together: up to the next segment that begins with a key frame. */
interface Group {
  /** When its first picture is shown. */
  readonly first: number;
  /** When its pictures are shown, in that order; without those that are shown before the first. */
  readonly shown: number[];
  /** When they are decoded, all of them. */
  readonly decoded: number[];
  end: number;
}

/** So many are forgotten at one time, at least. */
const MANY = 256;

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
