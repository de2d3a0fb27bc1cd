/** What the node encodes: planned pixels per second, and processes, one per holder. */
export class Capacity {
  readonly limit: number;
  readonly processes: number;
  readonly #held = new Map<object, number>();

  /** @param options `limit`: pixels a second; `processes`: most holders at one time */
  constructor({ limit, processes }: { limit: number; processes: number }) {
    this.limit = limit;
    this.processes = processes;
  }

  get used(): number {
    return this.#held.values().reduce((sum, one) => sum + one, 0);
  }

  /** Replaces what `holder` has; or returns what there is too little of, and changes nothing. */
  take(holder: object, pixelRate: number): 'taken' | 'pixels' | 'processes' {
    const before = this.#held.get(holder);
    if (before === undefined && this.#held.size >= this.processes) return 'processes';
    const more = pixelRate - (before ?? 0);
    if (more > 0 && this.used + more > this.limit) return 'pixels';
    this.#held.set(holder, pixelRate);
    return 'taken';
  }

  give(holder: object): void {
    this.#held.delete(holder);
  }
}
