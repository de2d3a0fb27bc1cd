/**
 * What the node encodes: planned pixels per second, and processes, one per holder. Refused holders are called in the order in which
 * they began to wait when something is given back, and take what fits: a large one may wait behind small ones.
 */
export class Capacity {
  readonly limit: number;
  readonly processes: number;
  readonly #held = new Map<object, number>();
  readonly #waiting = new Set<() => void>();
  #used = 0;

  /** @param options `limit`: pixels a second; `processes`: most holders at one time */
  constructor({ limit, processes }: { limit: number; processes: number }) {
    this.limit = limit;
    this.processes = processes;
  }

  get used(): number {
    return this.#used;
  }

  /** Replaces what `holder` has; or returns what there is too little of, and changes nothing. */
  take(holder: object, pixelRate: number): 'taken' | 'pixels' | 'processes' {
    if (!this.#held.has(holder) && this.#held.size >= this.processes) return 'processes';
    const used = this.#used - (this.#held.get(holder) ?? 0) + pixelRate;
    const isMore = used > this.#used;
    if (isMore && used > this.limit) return 'pixels';
    this.#held.set(holder, pixelRate);
    this.#used = used;
    if (!isMore) this.#tell();
    return 'taken';
  }

  give(holder: object): void {
    const had = this.#held.get(holder);
    if (had === undefined) return;
    this.#held.delete(holder);
    // Sums of fractions leave a rest.
    this.#used = this.#held.size === 0 ? 0 : this.#used - had;
    this.#tell();
  }

  /** Calls `onRoom` once, when something is given back. Returns how to stop waiting. */
  wait(onRoom: () => void): () => void {
    this.#waiting.add(onRoom);
    return () => this.#waiting.delete(onRoom);
  }

  #tell(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const onRoom of waiting) onRoom();
  }
}
