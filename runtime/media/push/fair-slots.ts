/**
 * Slots of which everybody may have any number while a quarter is free. Of that quarter nobody gets more than an equal share, as
 * if there were two owners at least: the first one can take three quarters, and leaves something for others.
 */
export class FairSlots {
  readonly #limit: number;
  readonly #taken = new Map<string, number>();
  #all = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** False: all are taken, or this owner has its share. */
  take(owner: string): boolean {
    const own = this.#taken.get(owner) ?? 0;
    const owners = this.#taken.size + (own === 0 ? 1 : 0);
    if (this.#all >= this.#limit) return false;
    if (this.#all >= this.#limit * 0.75 && own >= this.#limit / Math.max(owners, 2)) return false;
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
