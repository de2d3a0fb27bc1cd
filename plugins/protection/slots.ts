import type { Clock } from '../../core/ports/clock.ts';

/** Something that is done at a time for each of several names, such as a host and an address. */
export interface Share {
  readonly name: string;
  /** At a time. */
  readonly most: number;
}

/**
 * Lets work begin while each of its shares has room. What has to wait does so in its order, but behind nobody whose room it does
 * not need: one name that is full keeps up its own work only.
 */
export class Slots {
  readonly #clock: Clock;
  readonly #most: number;
  readonly #patience: number;
  readonly #taken = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();
  readonly #waitingFor = new Map<string, number>();

  /** @param options `most`: who waits; `patience`: for how long, ms */
  constructor({ clock, most, patience }: { clock: Clock; most: number; patience: number }) {
    this.#clock = clock;
    this.#most = most;
    this.#patience = patience;
  }

  /** The end of the work, to be called once; undefined when too many wait, or there was no room in time. */
  async enter(shares: readonly Share[]): Promise<(() => void) | undefined> {
    if (this.#hasRoom(shares)) return this.#begin(shares);
    const isFull = shares.some(({ name, most }) => count(this.#waitingFor, name) >= most * waitingPerSlot);
    if (isFull || this.#waiting.size >= this.#most) return undefined;
    return new Promise((resolve) => {
      const waiting: Waiting = {
        shares,
        end: (leave) => {
          cancel();
          this.#waiting.delete(waiting);
          for (const { name } of shares) add(this.#waitingFor, name, -1);
          resolve(leave);
        },
      };
      const cancel = this.#clock.at(this.#clock.now() + this.#patience, () => waiting.end(undefined));
      this.#waiting.add(waiting);
      for (const { name } of shares) add(this.#waitingFor, name, 1);
    });
  }

  #hasRoom(shares: readonly Share[]): boolean {
    return shares.every(({ name, most }) => count(this.#taken, name) < most);
  }

  #begin(shares: readonly Share[]): () => void {
    for (const { name } of shares) add(this.#taken, name, 1);
    return () => {
      for (const { name } of shares) add(this.#taken, name, -1);
      for (const waiting of this.#waiting)
        if (this.#hasRoom(waiting.shares)) waiting.end(this.#begin(waiting.shares));
    };
  }
}

/** Who may wait for each slot of a share. */
const waitingPerSlot = 16;

interface Waiting {
  readonly shares: readonly Share[];
  end(leave: (() => void) | undefined): void;
}

function count(counts: ReadonlyMap<string, number>, name: string): number {
  return counts.get(name) ?? 0;
}

function add(counts: Map<string, number>, name: string, by: number): void {
  const sum = count(counts, name) + by;
  if (sum === 0) counts.delete(name);
  else counts.set(name, sum);
}
