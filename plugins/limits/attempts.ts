import type { Clock } from '../../core/ports/clock.ts';

const minute = 60_000;
/** Hosts of accounts that are counted in one minute; further ones are not, and none of them has many attempts. */
const maxHosts = 50_000;

/** Counts attempts to call webhooks in the current minute, by account and host, on this node. */
export class AttemptCounts {
  readonly #clock: Clock;
  #began = 0;
  /** Account → host → attempts. */
  #counts = new Map<string, Map<string, number>>();
  #hosts = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** False: there were so many in this minute already. */
  take(account: string, { host, limit }: { host: string; limit: number | null }): boolean {
    const own = this.#of(account);
    const count = own.get(host) ?? 0;
    if (limit !== null && count >= limit) return false;
    if (count === 0) {
      if (this.#hosts >= maxHosts) return true;
      this.#hosts += 1;
    }
    own.set(host, count + 1);
    this.#counts.set(account, own);
    return true;
  }

  /** Attempts of this minute to the host that had the most. */
  most(account: string): number {
    return Math.max(0, ...this.#of(account).values());
  }

  #of(account: string): Map<string, number> {
    const began = Math.floor(this.#clock.now() / minute) * minute;
    if (began !== this.#began) {
      this.#began = began;
      this.#counts = new Map();
      this.#hosts = 0;
    }
    return this.#counts.get(account) ?? new Map();
  }
}
