import { mkdirSync, statfsSync } from 'node:fs';
import type { Clock } from '../../../core/ports/clock.ts';

/** Keeps recordings from taking the last of the disk: the database must be able to commit. */
export class FreeSpace {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #reserve: number;
  readonly #slack: number;
  readonly #interval: number;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** By the last look, less what was written since. */
  #free = 0;
  readonly #low: Record<'source' | 'rendition', boolean> = { source: false, rendition: false };
  readonly #renditionReserve: number;

  /** @param options bytes and ms; `renditionReserve`: what renditions leave beyond the reserve */
  constructor(
    folder: string,
    options: { clock: Clock; reserve: number; renditionReserve?: number; slack: number; interval: number },
  ) {
    this.#folder = folder;
    this.#clock = options.clock;
    this.#reserve = options.reserve;
    this.#renditionReserve = options.renditionReserve ?? 0;
    this.#slack = options.slack;
    this.#interval = options.interval;
  }

  /** Nothing new may be written of such a take. Throws what the disk says. */
  isLowFor(what: 'source' | 'rendition'): boolean {
    const now = this.#clock.now();
    if (now - this.#lookedAt >= this.#interval || now < this.#lookedAt) {
      mkdirSync(this.#folder, { recursive: true });
      const { bavail, bsize } = statfsSync(this.#folder);
      this.#lookedAt = now;
      this.#free = bavail * bsize;
    }
    const reserve = this.#reserve + (what === 'rendition' ? this.#renditionReserve : 0);
    this.#low[what] = this.#free < reserve + (this.#low[what] ? this.#slack : 0);
    return this.#low[what];
  }

  /** So much more was written: what comes between two looks may be more than the reserve. */
  wrote(bytes: number): void {
    this.#free -= bytes;
  }
}
