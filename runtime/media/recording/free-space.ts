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
  #isLow = false;

  /** @param options bytes and ms */
  constructor(folder: string, options: { clock: Clock; reserve: number; slack: number; interval: number }) {
    this.#folder = folder;
    this.#clock = options.clock;
    this.#reserve = options.reserve;
    this.#slack = options.slack;
    this.#interval = options.interval;
  }

  /** Nothing new may be written. Throws what the disk says. */
  get isLow(): boolean {
    const now = this.#clock.now();
    if (now - this.#lookedAt < this.#interval && now >= this.#lookedAt) return this.#isLow;
    mkdirSync(this.#folder, { recursive: true });
    const { bavail, bsize } = statfsSync(this.#folder);
    this.#lookedAt = now;
    const free = bavail * bsize;
    this.#isLow = free < this.#reserve + (this.#isLow ? this.#slack : 0);
    return this.#isLow;
  }
}
