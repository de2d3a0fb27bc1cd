import type { AnyMachineSnapshot } from 'xstate';

/** Restored snapshots of the actors used last, at most `limit`. */
export class HotActors {
  readonly #limit: number;
  readonly #entries = new Map<string, { snapshot: AnyMachineSnapshot; sequence: number }>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(actor: string): { snapshot: AnyMachineSnapshot; sequence: number } | undefined {
    return this.#entries.get(actor);
  }

  put(actor: string, entry: { snapshot: AnyMachineSnapshot; sequence: number }): void {
    // Deleting first moves it to the end: a Map iterates in order of insertion, oldest first.
    this.#entries.delete(actor);
    this.#entries.set(actor, entry);
    if (this.#entries.size <= this.#limit) return;
    const [oldest] = this.#entries.keys();
    this.#entries.delete(oldest);
  }

  drop(actor: string): void {
    this.#entries.delete(actor);
  }

  clear(): void {
    this.#entries.clear();
  }
}
