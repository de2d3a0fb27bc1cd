import { mkdirSync, statfsSync } from 'node:fs';
import type { Clock } from '../../../../core/ports/clock.ts';

/** Keeps recordings from taking the last of the disk: the database must be able to commit. */
export class FreeSpace {
  readonly #folder: string;
  readonly #options: {
    clock: Clock;
    reserve: number;
    renditionReserve: number;
    slack: number;
    interval: number;
  };
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** By the last look, less what was written since. */
  #free = 0;
  readonly #low = { source: false, rendition: false };

  /**
   * @param options bytes and ms. `renditionReserve`: what renditions leave beyond `reserve`; `slack`: what must be free beyond
   *   these before recording continues
   */
  constructor(
    folder: string,
    options: { clock: Clock; reserve: number; renditionReserve: number; slack: number; interval: number },
  ) {
    this.#folder = folder;
    this.#options = options;
  }

  /** Whether nothing new may be written. Throws what the disk says. */
  isLowFor(what: 'source' | 'rendition'): boolean {
    const { clock, interval, slack, renditionReserve } = this.#options;
    const now = clock.now();
    if (now - this.#lookedAt >= interval || now < this.#lookedAt) {
      mkdirSync(this.#folder, { recursive: true });
      const { bavail, bsize } = statfsSync(this.#folder);
      this.#lookedAt = now;
      this.#free = bavail * bsize;
    }
    const reserve = this.#options.reserve + (what === 'rendition' ? renditionReserve : 0);
    this.#low[what] = this.#free < reserve + (this.#low[what] ? slack : 0);
    return this.#low[what];
  }

  /** Counts what is written between two looks: it may be more than the reserve. */
  wrote(bytes: number): void {
    this.#free -= bytes;
  }
}
