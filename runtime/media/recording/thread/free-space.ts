import { mkdirSync, statfsSync } from 'node:fs';
import type { Clock } from '../../../../core/ports/clock.ts';
import type { RecorderSettings } from '../settings.ts';

/** Keeps recordings from taking the last of the disk: the database must be able to commit. */
export class FreeSpace {
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #settings: RecorderSettings;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** By the last look, less what was written since. */
  #free = 0;
  readonly #low = { source: false, rendition: false };

  constructor(folder: string, options: { clock: Clock; settings: RecorderSettings }) {
    this.#folder = folder;
    this.#clock = options.clock;
    this.#settings = options.settings;
  }

  /** Whether nothing new may be written. Throws what the disk says. */
  isLowFor(what: 'source' | 'rendition'): boolean {
    const { spaceLook, reserve, reserveSlack, renditionReserve } = this.#settings;
    const now = this.#clock.now();
    if (now - this.#lookedAt >= spaceLook || now < this.#lookedAt) {
      mkdirSync(this.#folder, { recursive: true });
      const { bavail, bsize } = statfsSync(this.#folder);
      this.#lookedAt = now;
      this.#free = bavail * bsize;
    }
    const kept = reserve + (what === 'rendition' ? renditionReserve : 0);
    this.#low[what] = this.#free < kept + (this.#low[what] ? reserveSlack : 0);
    return this.#low[what];
  }

  /** Counts what is written between two looks: it may be more than the reserve. */
  wrote(bytes: number): void {
    this.#free -= bytes;
  }
}
