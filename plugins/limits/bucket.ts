/** A token bucket: `burst` at once, and `perSecond` for ever. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** What becomes of a request: it goes on after `wait` ms, or is refused for `retryAfter` seconds. */
export type Verdict = { readonly wait: number } | { readonly retryAfter: number };

/**
 * The bucket of one client. Those that were refused come back when they were told to, and other requests of the same client may
 * have taken the tokens by then. So from the first promised moment until some time after the last one nobody is refused: requests
 * wait for their turn instead. A client that respects `Retry-After` is then never refused twice in a row, however many of its
 * requests were refused together.
 */
export class Bucket {
  /** Requests that wait for their turn. */
  held = 0;
  #tokens: number;
  /** When `#tokens` was right, ms. */
  #at: number;
  /** From when on tokens are there for one more, beside those that are promised already. */
  #horizon = 0;
  /** First and last moment that was promised and may not be over. */
  #first = Number.POSITIVE_INFINITY;
  #last = Number.NEGATIVE_INFINITY;

  constructor({ burst }: Rate, now: number) {
    this.#tokens = burst;
    this.#at = now;
  }

  /** @param options `mayHold`: there is room for one that waits. One that waits is to be counted in `held` until it goes on. */
  take({ perSecond, burst }: Rate, options: { cost: number; now: number; mayHold: boolean }): Verdict {
    const { now, mayHold } = options;
    const cost = Math.min(options.cost, burst);
    this.#refill({ perSecond, burst }, now);
    const short = cost - this.#tokens;
    if (short <= 0) {
      this.#tokens -= cost;
      return { wait: 0 };
    }
    const wait = Math.ceil((short / perSecond) * 1000);
    if (now > this.#last + grace) this.#first = Number.POSITIVE_INFINITY;
    if (now >= this.#first && mayHold && this.held < maxHeld && wait <= maxWait) {
      this.#tokens -= cost;
      return { wait };
    }
    const due = Math.max(now + wait, this.#horizon + (cost / perSecond) * 1000);
    const retryAfter = Math.min(maxRetryAfter, Math.max(1, Math.ceil((due - now) / 1000)));
    this.#horizon = Math.min(due, now + maxRetryAfter * 1000);
    const promised = now + retryAfter * 1000;
    this.#first = Math.min(this.#first, promised);
    this.#last = Math.max(this.#last, promised);
    return { retryAfter };
  }

  /** What is left at the time of the last `take`, and the seconds until all is there again. */
  left({ perSecond, burst }: Rate): { remaining: number; reset: number } {
    const tokens = this.#tokens;
    return {
      remaining: Math.max(0, Math.floor(tokens)),
      reset: Math.ceil((burst - tokens) / perSecond),
    };
  }

  #refill({ perSecond, burst }: Rate, now: number): void {
    // A clock that was set back gives nothing and takes nothing.
    const passed = Math.max(0, now - this.#at);
    this.#tokens = Math.min(burst, this.#tokens + (passed / 1000) * perSecond);
    this.#at = now;
  }
}

/** How long after the moment that it was told a client may come back, ms. */
const grace = 10_000;
/** Requests of one client that wait for their turn. */
const maxHeld = 256;
/** How long a request waits for its turn, ms: less than what ends a silent connection. */
const maxWait = 20_000;
/** Seconds. A client that goes on all the same is not told to wait for ever. */
const maxRetryAfter = 60;
