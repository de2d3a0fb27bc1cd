import type { Clock } from '../../../core/ports/clock.ts';
import type { RecorderLimits } from './limits.ts';

/** A take, as far as it is to be hashed. */
export interface Hashable {
  /** There may be something to hash, and it can be read as far as is known. */
  readonly isHashable: boolean;
  /** What former processes wrote of it is known. */
  readonly isOpen: boolean;
  /** Goes a little further through what there is of it, until it is open. */
  lookThrough(): void;
  /** Bytes that can be hashed now; 0 before it is open. */
  readonly unhashed: number;
  /** Hashes the next bytes, through `into`. What cannot be read is tried again later. */
  hash(into: Uint8Array): void;
}

/**
 * Hashes takes while they grow, a piece after the other. After each comes a rest, so that much to catch up with takes a quarter of
 * a core.
 */
export class HashTurns<Take extends Hashable> {
  readonly #clock: Clock;
  readonly #onOpened: (take: Take) => void;
  readonly #piece: Uint8Array;
  /** Those that may have something to hash, in turn. */
  readonly #waiting = new Set<Take>();
  #isHashing = false;

  /** @param options.onOpened what former processes wrote of a take is known from now on */
  constructor(options: {
    clock: Clock;
    limits: Pick<RecorderLimits, 'hashPiece'>;
    onOpened: (take: Take) => void;
  }) {
    this.#clock = options.clock;
    this.#onOpened = options.onOpened;
    this.#piece = new Uint8Array(options.limits.hashPiece);
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
    const take = this.#next();
    if (!take) return;
    this.#isHashing = true;
    const began = performance.now();
    if (take.isOpen) take.hash(this.#piece);
    else this.#lookThrough(take);
    this.#putLast(take);
    const rest = Math.ceil((performance.now() - began) * restAfter);
    this.#clock.at(this.#clock.now() + rest, () => {
      this.#isHashing = false;
      this.soon();
    });
  }

  /** One that is not open yet, else one with a whole piece to hash. The rest of a take is hashed when it is sealed. */
  #next(): Take | undefined {
    for (const take of this.#waiting) if (!take.isHashable) this.#waiting.delete(take);
    const waiting = [...this.#waiting];
    return (
      waiting.find(({ isOpen }) => !isOpen) ?? waiting.find(({ unhashed }) => unhashed >= this.#piece.length)
    );
  }

  #lookThrough(take: Take): void {
    take.lookThrough();
    if (take.isOpen) this.#onOpened(take);
  }

  /** Its turn comes again after those of the others. */
  #putLast(take: Take): void {
    this.#waiting.delete(take);
    this.#waiting.add(take);
  }
}

/** How many times as long as a piece took. */
const restAfter = 3;
