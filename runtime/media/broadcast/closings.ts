import type { Clock } from '../../../core/ports/clock.ts';

/**
 * Orders to close a publish that is not here. Most are for one that has ended by itself; but one may be for
 * a publish whose grant is still on its way to the connection, and that one must not begin.
 */
export class Closings {
  readonly #clock: Clock;
  readonly #orders = new Map<string, { reason: string; at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(token: string, reason: string): void {
    const now = this.#clock.now();
    for (const [former, { at }] of this.#orders) {
      if (now - at < KEPT) break;
      this.#orders.delete(former);
    }
    this.#orders.set(token, { reason, at: now });
  }

  /** Why this publish was closed before it began; undefined when it was not. */
  take(token: string): string | undefined {
    const order = this.#orders.get(token);
    this.#orders.delete(token);
    return order?.reason;
  }
}

/** ms; longer than the listener waits for a grant. */
const KEPT = 30_000;
