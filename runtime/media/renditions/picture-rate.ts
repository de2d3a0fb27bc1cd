import { FragmentReader } from '../recording/file/fragment-reader.ts';
import { readInit } from '../recording/file/read-init.ts';

/**
 * Counts the pictures of fragmented mp4 that the packager made, a second of its timeline at a time: what an encoder says of its frame
 * rate is its own word alone. Each piece holds whole boxes; what it cannot read it does not count.
 */
export class PictureRate {
  readonly #reader = new FragmentReader();
  readonly #most: number;
  #track = 0;
  #timescale = 1;
  /** Where the second that is being counted begins, ticks; -1: at the next picture. */
  #since = -1;
  #count = 0;
  #last: number | undefined;

  /** @param most so many are more than any second of an honest source has: there is no need to see its end */
  constructor(most: number) {
    this.#most = most;
  }

  /** Pictures in this piece; undefined: it is an init segment, or nothing that is known. */
  feed(piece: Uint8Array): number | undefined {
    const view = new DataView(piece.buffer, piece.byteOffset, piece.length);
    let pictures: number | undefined;
    for (let at = 0; at + 8 <= piece.length; ) {
      const size = view.getUint32(at);
      const type = view.getUint32(at + 4);
      if (size < 8 || at + size > piece.length) break;
      if (type === FTYP) this.#begin(piece);
      else if (type === MOOF && this.#reader.read(view, at, size)) pictures = (pictures ?? 0) + this.#add();
      at += size;
    }
    return pictures;
  }

  /** Pictures a second, undefined while there was no second of them. One that is not over yet counts when it has more already. */
  get value(): number | undefined {
    if (this.#last === undefined) return this.#count > this.#most ? this.#count : undefined;
    return Math.max(this.#last, this.#count);
  }

  #begin(init: Uint8Array): void {
    const video = readInit(init)?.find(({ isVideo }) => isVideo);
    this.#track = video?.id ?? 0;
    this.#timescale = video?.timescale ?? 1;
    this.#since = -1;
    this.#count = 0;
    this.#last = undefined;
  }

  #add(): number {
    let pictures = 0;
    for (const run of this.#reader.runs.slice(0, this.#reader.count)) {
      if (run.track !== this.#track) continue;
      if (this.#since < 0) this.#since = run.start;
      pictures += run.count;
      this.#count += run.count;
      const seconds = (run.start + run.duration - this.#since) / this.#timescale;
      if (seconds < 1) continue;
      this.#last = this.#count / seconds;
      this.#since = run.start + run.duration;
      this.#count = 0;
    }
    return pictures;
  }
}

const FTYP = 0x66747970;
const MOOF = 0x6d6f6f66;
