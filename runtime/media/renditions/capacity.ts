/**
 * What the node encodes, in pixels a second: planned, not measured; and by how many processes, one for each holder. A holder that is refused is told when there is room again, in the
 * order in which they began to wait, and whoever fits then takes it: a large one may wait behind small ones.
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

  /** From now on this is what `holder` has, instead of what it had; or what there is too little of, and it has what it had. */
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

  /** Calls `onRoom` once, when somebody gave something back. Returns its end. */
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
