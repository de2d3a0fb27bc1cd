/** Bytes that live media holds in one process: windows and arenas of all outputs together. */
export class MemoryBudget {
  readonly #limit: number;
  #held = 0;
  /** Of each owner, how many shares are open. */
  readonly #owners = new Map<unknown, number>();

  /** @param options.limit bytes; more is never granted. */
  constructor(options: { limit: number }) {
    this.#limit = options.limit;
  }

  /** Bytes that are held now. */
  get held(): number {
    return this.#held;
  }

  /** Too little is left for another output to begin. */
  get isSpent(): boolean {
    return this.#held + BEGINNING > this.#limit;
  }

  /** The share of one output; to be closed with it. `owner`: all shares of one are granted together what one owner is. Default: its own. */
  open(owner: unknown = Symbol('owner')): MemoryShare {
    this.#owners.set(owner, (this.#owners.get(owner) ?? 0) + 1);
    return new MemoryShare(this, owner);
  }

  /** For `MemoryShare`, of which `own` bytes are held: gives everything back. */
  close(owner: unknown, own: number): void {
    const left = (this.#owners.get(owner) ?? 0) - 1;
    if (left > 0) this.#owners.set(owner, left);
    else this.#owners.delete(owner);
    this.#held -= own;
  }

  /**
   * For `MemoryShare`. The last quarter is kept for those who hold no more than the average may be, so that a few who hold much
   * end themselves and not the others. What one may be is counted by owners first: many shares of one take nothing from others.
   * What is expendable has nothing of that quarter.
   */
  take(
    bytes: number,
    { own, owner, isExpendable }: { own: number; owner: unknown; isExpendable: boolean },
  ): boolean {
    const after = this.#held + bytes;
    if (bytes > 0) {
      if (after > this.#limit) return false;
      const fair = this.#limit / this.#owners.size / (this.#owners.get(owner) ?? 1);
      if (after > this.#limit * COMMON && (isExpendable || own + bytes > fair)) return false;
    }
    this.#held = after;
    return true;
  }
}

/** What one output holds of the budget. */
export class MemoryShare {
  readonly #budget: MemoryBudget;
  readonly #owner: unknown;
  #held = 0;
  #isOpen = true;
  /** Called when there is too little for what is not expendable: gives back what is, and says whether there was any. */
  onShort: (() => boolean) | undefined;

  constructor(budget: MemoryBudget, owner: unknown) {
    this.#budget = budget;
    this.#owner = owner;
  }

  /** A part of the share, for one thing that grows and shrinks. `isExpendable`: the others go before it. */
  hold({ isExpendable = false } = {}): MemoryHold {
    let size = 0;
    return {
      resize: (bytes) => {
        const more = bytes - size;
        if (!this.#isOpen || more === 0) return true;
        if (!this.#take(more, isExpendable)) return false;
        this.#held += more;
        size = bytes;
        return true;
      },
    };
  }

  /** Gives everything back. What is held after that is on its way to the garbage collector, and not counted. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#budget.close(this.#owner, this.#held);
  }

  #take(bytes: number, isExpendable: boolean): boolean {
    const take = () => this.#budget.take(bytes, { own: this.#held, owner: this.#owner, isExpendable });
    return take() || (!isExpendable && this.onShort?.() === true && take());
  }
}

export interface MemoryHold {
  /** From now on this many bytes. False when that is more than may be had: nothing has changed then. Less is always granted. */
  resize(bytes: number): boolean;
}

/** Part of the limit that is given to whoever asks. */
const COMMON = 0.75;
/** What a broadcast takes before its first segment is whole, bytes. */
const BEGINNING = 1_048_576;
/** What the encoder is told that has to go. */
export const OUT_OF_MEMORY = 'the server has no memory left for a broadcast of this size; lower its bitrate';
