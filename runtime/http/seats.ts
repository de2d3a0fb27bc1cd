import { plainAddress } from '../../core/base/cidr.ts';
import type { Log } from '../../core/base/log.ts';
import { networkOf } from '../../core/base/network.ts';

/** Connections above the limit that are still accepted: only operators are answered there, so that monitoring works. */
const spareSeats = 32;
/** One line in the log about refused connections in so many ms. */
const logInterval = 10_000;

/**
 * What a connection does. `unheard`: it has not sent a whole request head yet. `idle`: it waits for the next request.
 * `unfinished`: the small body of its request is not complete. `busy`: it waits for us, or uploads.
 */
export type Stage = 'unheard' | 'idle' | 'unfinished' | 'busy';

/** An open connection, as far as `Seats` know it. */
export interface Seated {
  readonly peer: string | undefined;
  /** It is above the limit: only operators are answered. */
  isSpare: boolean;
  /** Ends it if its client is too slow, at `now` by `performance.now()`. */
  check(now: number): void;
  terminate(): void;
}

export interface SeatOptions {
  readonly log: Log;
  /** Most connections. Default: any number. */
  readonly most?: number;
  /** Most connections of one address or IPv6 /64. Default: any number. */
  readonly perAddress?: number;
  /** Addresses that the limit per address does not hold for. */
  isProxy?(address: string): boolean;
}

/**
 * The open connections of a server, and how many there may be. When it is full, it closes the connection that costs its client
 * least: the oldest one without a whole request.
 */
export class Seats {
  readonly #options: Required<SeatOptions>;
  readonly #all = new Map<Seated, { readonly network: string | undefined; stage: Stage }>();
  readonly #perNetwork = new Map<string, number>();
  /** Those that may be closed for others, in the order in which they are closed. */
  readonly #closable = {
    unheard: new Set<Seated>(),
    idle: new Set<Seated>(),
    unfinished: new Set<Seated>(),
    busy: undefined,
  };
  #loggedAt = Number.NEGATIVE_INFINITY;
  #unsaid = 0;

  constructor(options: SeatOptions) {
    const any = Number.POSITIVE_INFINITY;
    this.#options = { most: any, perAddress: any, isProxy: () => false, ...options };
  }

  get count(): number {
    return this.#all.size;
  }

  [Symbol.iterator](): Iterator<Seated> {
    return this.#all.keys();
  }

  /** Takes a new connection in; false: it must be closed. */
  admit(seated: Seated): boolean {
    const { most, perAddress, isProxy } = this.#options;
    const { peer } = seated;
    if (peer === undefined) return false;
    const address = plainAddress(peer) ?? peer;
    const isCounted = perAddress !== Number.POSITIVE_INFINITY && !isProxy(address);
    const network = isCounted ? networkOf(address) : undefined;
    const ofNetwork = network === undefined ? 0 : (this.#perNetwork.get(network) ?? 0);
    if (ofNetwork >= perAddress) return this.#refused(peer, 'too many connections of this address');
    if (this.#all.size >= most) this.#closeOldest();
    if (this.#all.size >= most + spareSeats) return this.#refused(peer, 'too many connections');
    seated.isSpare = this.#all.size >= most;
    if (network !== undefined) this.#perNetwork.set(network, ofNetwork + 1);
    this.#all.set(seated, { network, stage: 'unheard' });
    this.#closable.unheard.add(seated);
    return true;
  }

  /** It does something else from now on. */
  enter(seated: Seated, stage: Stage): void {
    const seat = this.#all.get(seated);
    if (!seat || seat.stage === stage) return;
    this.#closable[seat.stage]?.delete(seated);
    seat.stage = stage;
    this.#closable[stage]?.add(seated);
  }

  /** It does not count to its address any more. */
  exempt(seated: Seated): void {
    const seat = this.#all.get(seated);
    if (seat?.network === undefined) return;
    this.#uncount(seat.network);
    this.#all.set(seated, { ...seat, network: undefined });
  }

  /** It is closed. */
  leave(seated: Seated): void {
    const seat = this.#all.get(seated);
    if (!seat) return;
    this.#all.delete(seated);
    this.#closable[seat.stage]?.delete(seated);
    if (seat.network !== undefined) this.#uncount(seat.network);
  }

  #uncount(network: string): void {
    const left = (this.#perNetwork.get(network) ?? 1) - 1;
    if (left > 0) this.#perNetwork.set(network, left);
    else this.#perNetwork.delete(network);
  }

  #closeOldest(): void {
    const { unheard, idle, unfinished } = this.#closable;
    for (const set of [unheard, idle, unfinished]) {
      const [oldest] = set;
      if (!oldest) continue;
      this.leave(oldest);
      oldest.terminate();
      return;
    }
  }

  #refused(address: string, reason: string): false {
    const now = performance.now();
    if (now - this.#loggedAt < logInterval) {
      this.#unsaid += 1;
      return false;
    }
    const unsaid = this.#unsaid > 0 && { unsaid: this.#unsaid };
    this.#options.log.warn('http connection refused', { address, reason, ...unsaid });
    this.#loggedAt = now;
    this.#unsaid = 0;
    return false;
  }
}
