import type { Clock } from '../../core/ports/clock.ts';
import { Alarm } from '../actors/jobs/alarm.ts';

/** Gives up on promises that take too long: one timer for all of them, as there may be thousands at a time. */
export class TimeLimit {
  readonly #clock: Clock;
  readonly #ms: number;
  /** In the order in which they began. */
  readonly #waiting = new Set<{ readonly until: number; giveUp(): void }>();
  readonly #alarm: Alarm;

  constructor(ms: number, { clock }: { clock: Clock }) {
    this.#clock = clock;
    this.#ms = ms;
    this.#alarm = new Alarm(clock, () => this.#look());
  }

  /** The result of the work, or a rejection with `late()` when the time is up. The work itself goes on. */
  within<T>(work: Promise<T>, late: () => Error): Promise<T> {
    return new Promise((resolve, reject) => {
      const until = this.#clock.now() + this.#ms;
      const one = { until, giveUp: () => reject(late()) };
      this.#waiting.add(one);
      if (this.#waiting.size === 1) this.#alarm.setFor(until);
      work.then(resolve, reject).finally(() => {
        this.#waiting.delete(one);
        if (this.#waiting.size === 0) this.#alarm.clear();
      });
    });
  }

  #look(): void {
    for (const one of this.#waiting) {
      if (one.until > this.#clock.now()) {
        this.#alarm.setFor(one.until);
        return;
      }
      this.#waiting.delete(one);
      one.giveUp();
    }
  }
}
