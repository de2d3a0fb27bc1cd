import type { Clock } from '../../../core/ports/clock.ts';

/**
 * Whether this process itself was held up: its thread was busy, or the machine did not let it run. What arrived
 * meanwhile lay in the kernel, so the time at which it is seen says nothing of its sender.
 */
export class OwnDelay {
  readonly #clock: Clock;
  #due = Number.POSITIVE_INFINITY;
  #until = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Looks from now on; returns its stop. */
  watch(): () => void {
    let cancel = () => {};
    const beat = () => {
      const now = this.#clock.now();
      this.isRecent(now);
      this.#due = now + interval;
      cancel = this.#clock.at(this.#due, beat);
    };
    beat();
    return () => cancel();
  }

  /**
   * At `now`, epoch ms: true from the end of a delay for as long as it lasted, because what waited is still coming
   * in. Known from the first message after it, before any timer ran. Two comparisons; it is asked for each message.
   */
  isRecent(now: number): boolean {
    const late = now - this.#due;
    if (late > tolerance) this.#until = Math.max(this.#until, now + Math.min(late, longest));
    return now < this.#until && this.#until - now <= longest;
  }
}

/** How often it looks, ms. */
const interval = 250;
/** A busy machine is this late, ms; too little for any issue of a broadcast. */
const tolerance = 250;
/** A process may have slept for hours; encoders are judged again after this, ms. */
const longest = 5000;
