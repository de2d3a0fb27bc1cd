/**
 * Places of which everyone may have any while a quarter of them is free. Of that quarter nobody gets one who has his part already,
 * as if there were two owners at least: who comes first takes three quarters, and leaves something for those who come.
 */
export class FairPlaces {
  readonly #limit: number;
  readonly #taken = new Map<string, number>();
  #all = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False: all are taken, or this owner has his part. */
  take(owner: string): boolean {
    const own = this.#taken.get(owner) ?? 0;
    const owners = this.#taken.size + (own === 0 ? 1 : 0);
    if (this.#all >= this.#limit) return false;
    if (this.#all >= this.#limit * COMMON && own >= this.#limit / Math.max(owners, 2)) return false;
    this.#taken.set(owner, own + 1);
    this.#all += 1;
    return true;
  }

  give(owner: string): void {
    const own = this.#taken.get(owner) ?? 0;
    if (own === 0) return;
    if (own === 1) this.#taken.delete(owner);
    else this.#taken.set(owner, own - 1);
    this.#all -= 1;
  }
}

/** Part of them that is given to whoever asks. */
const COMMON = 0.75;
