import type { FedPictures } from './ladder.ts';

/** Counts pictures a second of their timeline at a time: what an encoder says of its frame rate is its own word alone. */
export class PictureRate {
  readonly #most: number;
  /** Where the second that is being counted begins; undefined: at the next picture. */
  #since: number | undefined;
  #count = 0;
  #last: number | undefined;

  /** @param most so many are more than any second of an honest source has: there is no need to see its end */
  constructor(most: number) {
    this.#most = most;
  }

  count({ count, start, end }: FedPictures): void {
    this.#since ??= start;
    this.#count += count;
    const seconds = end - this.#since;
    if (seconds < 1) return;
    this.#last = this.#count / seconds;
    this.#since = end;
    this.#count = 0;
  }

  /** Pictures a second, undefined while there was no second of them. One that is not over yet counts when it has more already. */
  get value(): number | undefined {
    if (this.#last === undefined) return this.#count > this.#most ? this.#count : undefined;
    return Math.max(this.#last, this.#count);
  }
}
