/** How long to wait before each of several attempts: twice as long after every one, each a little at random. */
export class Backoff {
  readonly #first: number;
  readonly #most: number;
  readonly #random: () => number;
  #wait: number;

  /** @param options.first, options.most ms. `random`: from 0 to below 1. */
  constructor(options: { first: number; most: number; random: () => number }) {
    this.#first = this.#wait = options.first;
    this.#most = options.most;
    this.#random = options.random;
  }

  /** ms until the next attempt: up to a quarter less than its turn, so that many do not come at the same moment. */
  next(): number {
    const wait = Math.min(this.#wait, this.#most);
    this.#wait = Math.min(this.#wait * 2, this.#most);
    return Math.round(wait * (1 - this.#random() / 4));
  }

  reset(): void {
    this.#wait = this.#first;
  }
}
