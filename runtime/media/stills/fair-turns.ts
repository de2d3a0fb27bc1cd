import type { Clock } from '../../../core/ports/clock.ts';

/** Pictures that count nothing at first: what an ordinary viewer asks for within `halfLife`. */
const allowance = 10;
/** ms after which half of what somebody has had is forgotten. */
const halfLife = 10_000;
/** Waiting pictures that what is asked for last in line counts more. */
const penalty = 4;
/** Those whose use is remembered. */
const maxRemembered = 10_000;

/** Who wants a turn, and for what. */
export interface TurnOrder {
  /** `first`: before all others, whoever asks. `last`: behind others of the same load. */
  readonly rank: 'first' | 'usual' | 'last';
  /** Whom it is for: each has a share of its own. The first of them is who asks. */
  readonly shares: readonly [client: string, ...others: readonly string[]];
  readonly signal: AbortSignal;
}

export interface TurnLimits {
  readonly running: number;
  readonly waiting: number;
  readonly waitingPerClient: number;
  readonly clock: Clock;
}

/**
 * How many do something at one time. Of those that wait, the one goes next that has had and wants the least. When too many
 * wait, the one leaves that has had and wants the most.
 */
export class FairTurns {
  readonly #limits: TurnLimits;
  /** In the order in which they came. */
  readonly #waiting = new Set<Waiting>();
  /** By share: those that wait and that run. */
  readonly #wanted = new Map<string, number>();
  readonly #waitingOf = new Map<string, number>();
  /** By share: what was begun, at some time. */
  readonly #had = new Map<string, { count: number; at: number }>();
  #running = 0;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  get running(): number {
    return this.#running;
  }

  /** Resolves when its turn has come; the answer ends it. `full`: too many wait. Throws the reason of an aborted signal. */
  async take(order: TurnOrder): Promise<(() => void) | 'full'> {
    order.signal.throwIfAborted();
    const [client] = order.shares;
    const { running, waiting, waitingPerClient } = this.#limits;
    const isFree = this.#running < running;
    if (!isFree && (this.#waitingOf.get(client) ?? 0) >= waitingPerClient) return 'full';
    if (!isFree && this.#waiting.size >= waiting && !this.#makeRoom(order)) return 'full';
    for (const share of order.shares) add(this.#wanted, share, 1);
    if (isFree) this.#begin(order);
    else if (!(await this.#turn(order))) return 'full';
    return () => this.#leave(order);
  }

  /** False: others have pushed it out. */
  async #turn(order: TurnOrder): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const waiting = { order, resolve };
    const leave = () => {
      if (!this.#waiting.has(waiting)) return;
      this.#drop(waiting);
      reject(order.signal.reason);
    };
    order.signal.addEventListener('abort', leave);
    this.#waiting.add(waiting);
    add(this.#waitingOf, order.shares[0], 1);
    return promise.finally(() => order.signal.removeEventListener('abort', leave));
  }

  /** It waits no more, and gets no turn. */
  #drop(waiting: Waiting): void {
    this.#waiting.delete(waiting);
    add(this.#waitingOf, waiting.order.shares[0], -1);
    for (const share of waiting.order.shares) add(this.#wanted, share, -1);
  }

  #begin(order: TurnOrder): void {
    this.#running += 1;
    for (const share of order.shares) this.#count(share);
  }

  #leave(order: TurnOrder): void {
    this.#running -= 1;
    for (const share of order.shares) add(this.#wanted, share, -1);
    const next = this.#chosen((load, least) => load < least);
    if (!next) return;
    this.#waiting.delete(next);
    add(this.#waitingOf, next.order.shares[0], -1);
    this.#begin(next.order);
    next.resolve(true);
  }

  /** Pushes out the one with the most, if it has more than this one would have. */
  #makeRoom(order: TurnOrder): boolean {
    const most = this.#chosen((load, before) => load >= before);
    if (!most || this.#loadOf(most.order) <= this.#loadOf(order) + order.shares.length) return false;
    this.#drop(most);
    most.resolve(false);
    return true;
  }

  #chosen(isBetter: (load: number, than: number) => boolean): Waiting | undefined {
    let chosen: Waiting | undefined;
    let its = 0;
    for (const one of this.#waiting) {
      const load = this.#loadOf(one.order);
      if (chosen && !isBetter(load, its)) continue;
      chosen = one;
      its = load;
    }
    return chosen;
  }

  #loadOf({ rank, shares }: TurnOrder): number {
    if (rank === 'first') return Number.NEGATIVE_INFINITY;
    let load = rank === 'last' ? penalty : 0;
    for (const share of shares) {
      const had = this.#had.get(share);
      load += this.#wanted.get(share) ?? 0;
      if (had) load += Math.max(0, this.#left(had) - allowance);
    }
    return load;
  }

  /** What of it is not forgotten. */
  #left({ count, at }: { count: number; at: number }): number {
    return count * 0.5 ** ((this.#limits.clock.now() - at) / halfLife);
  }

  #count(share: string): void {
    const before = this.#had.get(share);
    const count = 1 + (before ? this.#left(before) : 0);
    // So that those used longest ago are the first.
    this.#had.delete(share);
    this.#had.set(share, { count, at: this.#limits.clock.now() });
    const [oldest] = this.#had.size > maxRemembered ? this.#had.keys() : [];
    if (oldest !== undefined) this.#had.delete(oldest);
  }
}

interface Waiting {
  readonly order: TurnOrder;
  resolve(hasTurn: boolean): void;
}

function add(counts: Map<string, number>, key: string, more: number): void {
  const count = (counts.get(key) ?? 0) + more;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}
