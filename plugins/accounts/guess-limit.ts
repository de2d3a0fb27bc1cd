import { Fault } from '../../core/base/fault.ts';
import { networkOf } from '../../core/base/network.ts';
import type { Clock } from '../../core/ports/clock.ts';

/** Wrong codes from one address, or one /64 of IPv6, within `period`; then even a right one is refused until it is over. */
const maxWrong = 20;
/** ms */
const period = 60_000;
/** Addresses that are counted; the one whose count began first is forgotten for a further one. */
const maxAddresses = 10_000;

/** Counts wrong codes by the address that they came from, on this node. */
export class GuessLimit {
  readonly #clock: Clock;
  readonly #guesses = new Map<string, { wrong: number; readonly since: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Counts a code as wrong until `right` says otherwise: many may be checked at the same time. Throws 429 `sign_in.too_many` for an
   * address that has guessed too often.
   */
  count(address = ''): void {
    const network = networkOf(address);
    const now = this.#clock.now();
    let own = this.#guesses.get(network);
    if (!own || own.since + period <= now) {
      own = { wrong: 0, since: now };
      this.#guesses.delete(network);
      this.#guesses.set(network, own);
      if (this.#guesses.size > maxAddresses)
        this.#guesses.delete(this.#guesses.keys().next().value as string);
    }
    if (own.wrong >= maxWrong) {
      throw new Fault('sign_in.too_many', {
        status: 429,
        message: 'Too many wrong sign-in codes came from this address. Try again in a minute.',
        retryAfter: Math.ceil((own.since + period - now) / 1000),
      });
    }
    own.wrong += 1;
  }

  right(address = ''): void {
    const own = this.#guesses.get(networkOf(address));
    if (own) own.wrong -= 1;
  }
}
