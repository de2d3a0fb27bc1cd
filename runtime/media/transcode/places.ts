/** Places of conversions beyond the configured ones, for accounts that have none running. */
const spare = 1;

interface Waiting {
  readonly account: string;
  begin(): void;
}

/**
 * The places in which conversions run; others wait. A film may take hours, so an account that has none running gets one place more than
 * there are when others hold them all, and a place that becomes free goes to the account with the fewest.
 */
export class ConversionPlaces {
  readonly #most: number;
  readonly #waitingMost: number;
  readonly #waiting = new Set<Waiting>();
  readonly #runningOf = new Map<string, number>();
  #running = 0;

  constructor(limits: { readonly running: number; readonly waiting: number }) {
    this.#most = limits.running;
    this.#waitingMost = limits.waiting;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Resolves when there is a place; the answer gives it back. `full`: too many wait. Throws the reason of an aborted signal. */
  async take(account: string, signal: AbortSignal): Promise<(() => void) | 'full'> {
    signal.throwIfAborted();
    if (this.#mayBegin(account)) this.#begin(account);
    else if (this.#waiting.size >= this.#waitingMost) return 'full';
    else await this.#turn(account, signal);
    return () => this.#leave(account);
  }

  async #turn(account: string, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const one: Waiting = { account, begin: resolve };
    const leave = () => {
      this.#waiting.delete(one);
      reject(signal.reason);
    };
    signal.addEventListener('abort', leave);
    this.#waiting.add(one);
    await promise.finally(() => signal.removeEventListener('abort', leave));
  }

  #mayBegin(account: string): boolean {
    return this.#running < this.#most + (this.#of(account) === 0 ? spare : 0);
  }

  #begin(account: string): void {
    this.#running += 1;
    this.#runningOf.set(account, this.#of(account) + 1);
  }

  #leave(account: string): void {
    this.#running -= 1;
    const left = this.#of(account) - 1;
    if (left > 0) this.#runningOf.set(account, left);
    else this.#runningOf.delete(account);
    // Of those with equally few, the one that waits longest.
    const next = [...this.#waiting].reduce<Waiting | undefined>(
      (best, one) => (best && this.#of(best.account) <= this.#of(one.account) ? best : one),
      undefined,
    );
    if (!next || !this.#mayBegin(next.account)) return;
    this.#waiting.delete(next);
    this.#begin(next.account);
    next.begin();
  }

  #of(account: string): number {
    return this.#runningOf.get(account) ?? 0;
  }
}
