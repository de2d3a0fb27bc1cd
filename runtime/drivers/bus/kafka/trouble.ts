import type { Log, LogFields } from '../../../../core/base/log.ts';
import type { Clock } from '../../../../core/ports/clock.ts';

/** Shortest time between two warnings, ms: in an outage the same goes wrong many times a second. */
const interval = 10_000;

/** Trouble that may pass by itself: brokers that start, and leaders that change, make some. It is worth a warning when it lasts. */
export class Trouble {
  readonly #options: { log: Log; clock: Clock; ms: number };
  #since: number | undefined;
  #toldAt = Number.NEGATIVE_INFINITY;

  /** `ms`: how long it lasts at least. */
  constructor(options: { log: Log; clock: Clock; ms: number }) {
    this.#options = options;
  }

  warn(message: string, fields: LogFields): void {
    const { log, clock, ms } = this.#options;
    const now = clock.now();
    this.#since ??= now;
    const isNews = now - this.#since >= ms && now - this.#toldAt >= interval;
    if (isNews) this.#toldAt = now;
    log[isNews ? 'warn' : 'debug'](message, fields);
  }

  isOver(): void {
    this.#since = undefined;
  }
}
