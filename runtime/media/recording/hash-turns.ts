import type { Clock } from '../../../core/ports/clock.ts';
import type { RecorderLimits } from './limits.ts';
import { type Md5, type Md5State, md5, md5OfEight } from './md5/md5.ts';

/** A take, as far as it is to be hashed. */
export interface Hashable {
  /** There may be something to hash, and it can be read as far as is known. */
  readonly isHashable: boolean;
  /** What former processes wrote of it is known. */
  readonly isOpen: boolean;
  /** Goes a little further through what there is of it, until it is open. */
  lookThrough(): void;
  /** Bytes that can be hashed now, whole blocks of md5; 0 before it is open. */
  readonly unhashed: number;
  /** Fills `into` with what is hashed next; answers the md5 that it is to be added to, or undefined when it cannot be read. */
  readUnhashed(into: Uint8Array): Md5State | undefined;
}

/**
 * Hashes takes while they grow, a piece after the other. After each comes a rest, so that much to catch up with takes a quarter of
 * a core.
 */
export class HashTurns<Take extends Hashable> {
  readonly #clock: Clock;
  readonly #limits: HashLimits;
  readonly #onOpened: (take: Take) => void;
  readonly #one: Md5;
  readonly #eight: Md5 | undefined;
  /** Those that may have something to hash, in turn. */
  readonly #waiting = new Set<Take>();
  #isHashing = false;

  /** @param options.onOpened what former processes wrote of a take is known from now on */
  constructor(options: { clock: Clock; limits: HashLimits; onOpened: (take: Take) => void }) {
    this.#clock = options.clock;
    this.#limits = options.limits;
    this.#onOpened = options.onOpened;
    this.#one = md5({ piece: options.limits.hashPiece });
    this.#eight = md5OfEight({ piece: options.limits.hashPiece });
  }

  /** For a take that is hashed to its end, apart from the others. */
  get alone(): Md5 {
    return this.#one;
  }

  add(take: Take): void {
    this.#waiting.add(take);
  }

  delete(take: Take): void {
    this.#waiting.delete(take);
  }

  /** Goes on, if there is enough to do. */
  soon(): void {
    if (this.#isHashing) return;
    const turn = this.#next();
    if (!turn) return;
    this.#isHashing = true;
    const began = performance.now();
    turn();
    const rest = Math.ceil((performance.now() - began) * restAfter);
    this.#clock.at(this.#clock.now() + rest, () => {
      this.#isHashing = false;
      this.soon();
    });
  }

  /** Side by side md5 takes a third of the time, so they wait for each other. One that is far behind is hashed alone. */
  #next(): (() => void) | undefined {
    for (const take of this.#waiting) if (!take.isHashable) this.#waiting.delete(take);
    const waiting = [...this.#waiting];
    const closed = waiting.find((take) => !take.isOpen);
    if (closed) return () => this.#lookThrough(closed);
    const eight = this.#eight;
    if (eight && waiting.length >= eight.width) return () => this.#hash(waiting.slice(0, eight.width), eight);
    const far = waiting.find(({ unhashed }) => unhashed >= this.#limits.hashBehind);
    return far && (() => this.#hash([far], this.#one));
  }

  #lookThrough(take: Take): void {
    take.lookThrough();
    if (take.isOpen) this.#onOpened(take);
    this.#putLast(take);
  }

  /** A piece of each, as long as the shortest has. */
  #hash(takes: readonly Take[], md5: Md5): void {
    const bytes = Math.min(this.#limits.hashPiece, ...takes.map(({ unhashed }) => unhashed));
    const states: Md5State[] = [];
    for (const take of takes) {
      const state = take.readUnhashed(md5.room(states.length).subarray(0, bytes));
      if (state) states.push(state);
      this.#putLast(take);
    }
    md5.take(states, bytes);
  }

  /** Its turn comes again after those of the others. */
  #putLast(take: Take): void {
    this.#waiting.delete(take);
    this.#waiting.add(take);
  }
}

type HashLimits = Pick<RecorderLimits, 'hashPiece' | 'hashBehind'>;

/** How many times as long as a piece took. */
const restAfter = 3;
