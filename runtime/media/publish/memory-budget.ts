/** Bytes that live media holds in one process: windows and arenas of all outputs together. */
export class MemoryBudget {
  readonly #limit: number;
  #held = 0;
  readonly #owners = new Map<unknown, Owner>();

  /** @param options.limit bytes; more is never granted. */
  constructor(options: { limit: number }) {
    this.#limit = options.limit;
  }

  /** Bytes that are held now. */
  get held(): number {
    return this.#held;
  }

  /** Bytes that one owner holds. */
  heldBy(owner: unknown): number {
    return this.#owners.get(owner)?.held ?? 0;
  }

  /** Too little is left for another output to begin. */
  get isSpent(): boolean {
    return this.#held + BEGINNING > this.#limit;
  }

  /**
   * Whether another output of this owner may begin. Where too little is left, the largest one of the owner that holds most ends for an
   * owner that holds less than its part. `most`: as for `bound`.
   */
  mayBegin(owner: unknown, most = Number.POSITIVE_INFINITY): boolean {
    const after = this.heldBy(owner) + BEGINNING;
    if (after > most) return false;
    const owners = this.#owners.size + (this.#owners.has(owner) ? 0 : 1);
    while (this.isSpent) {
      if (after > this.#limit / owners || !this.#endOther(owner, owners)) return false;
    }
    return true;
  }

  /** The share of one output; to be closed with it. `owner`: all shares of one are granted together what one owner is. Default: its own. */
  open(owner: unknown = Symbol('owner')): MemoryShare {
    const share = new MemoryShare(this, owner);
    const own = this.#owners.get(owner) ?? { shares: new Set(), held: 0, most: Number.POSITIVE_INFINITY };
    own.shares.add(share);
    this.#owners.set(owner, own);
    return share;
  }

  /** The most that all shares of an owner may hold; undefined: no more than the others leave. */
  bound(owner: unknown, most = Number.POSITIVE_INFINITY): void {
    const own = this.#owners.get(owner);
    if (own) own.most = most;
  }

  /** For `MemoryShare`: gives everything back that it holds. */
  close(share: MemoryShare): void {
    const own = this.#owners.get(share.owner);
    if (!own?.shares.delete(share)) return;
    own.held -= share.held;
    this.#held -= share.held;
    if (own.shares.size === 0) this.#owners.delete(share.owner);
  }

  /**
   * For `MemoryShare`. The last quarter is kept for those who hold no more than the average may be, so that a few who hold much
   * end themselves and not the others. What one may be is counted by owners first: many shares of one take nothing from others.
   * What is expendable has nothing of that quarter.
   *
   * Where an owner has reached its bound, its own largest output ends. Where nothing is left at all, that is the largest of the owner
   * that holds most, for one that holds less than its part.
   */
  take(bytes: number, { share, isExpendable }: { share: MemoryShare; isExpendable: boolean }): boolean {
    const own = this.#owners.get(share.owner);
    if (!own) return true;
    while (bytes > 0) {
      const verdict = this.#verdict(bytes, { share, own, isExpendable });
      if (verdict === 'granted') break;
      if (verdict === 'refused' || isExpendable) return false;
      const hasEnded =
        verdict === 'own' ? endLargest(own, share) : this.#endOther(share.owner, this.#owners.size);
      if (!hasEnded) return false;
    }
    own.held += bytes;
    this.#held += bytes;
    return true;
  }

  /** `own`, `other`: granted when an output of its owner, or of another, has ended. */
  #verdict(
    bytes: number,
    { share, own, isExpendable }: { share: MemoryShare; own: Owner; isExpendable: boolean },
  ): 'granted' | 'refused' | 'own' | 'other' {
    if (own.held + bytes > own.most) return 'own';
    const after = this.#held + bytes;
    const part = this.#limit / this.#owners.size;
    if (after > this.#limit * COMMON) {
      const isBeyond = share.held + bytes > part / own.shares.size;
      if (isExpendable || (isBeyond && !share.onEvicted)) return 'refused';
      if (own.held + bytes > part) return 'own';
    }
    return after > this.#limit ? 'other' : 'granted';
  }

  /** Ends the largest output of the owner that holds most, where that is more than its part. */
  #endOther(owner: unknown, owners: number): boolean {
    let most: Owner | undefined;
    for (const [id, one] of this.#owners) if (id !== owner && one.held > (most?.held ?? 0)) most = one;
    return most !== undefined && most.held > this.#limit / owners && endLargest(most);
  }
}

/** What one owner has of the budget. */
interface Owner {
  readonly shares: Set<MemoryShare>;
  held: number;
  most: number;
}

/** False: it is the one that asks, or cannot be ended. */
function endLargest({ shares }: Owner, asking?: MemoryShare): boolean {
  let largest: MemoryShare | undefined;
  for (const share of shares) if (share.held > (largest?.held ?? 0)) largest = share;
  if (!largest?.onEvicted || largest === asking) return false;
  largest.onEvicted();
  // What did not give its memory back would be asked for ever.
  largest.close();
  return true;
}

/** What one output holds of the budget. */
export class MemoryShare {
  readonly owner: unknown;
  readonly #budget: MemoryBudget;
  #held = 0;
  #isOpen = true;
  /** Called when there is too little for what is not expendable: gives back what is, and says whether there was any. */
  onShort: (() => boolean) | undefined;
  /** Ends the output at once, for others of its owner, or for other owners. Without it, it never ends for others. */
  onEvicted: (() => void) | undefined;

  constructor(budget: MemoryBudget, owner: unknown) {
    this.#budget = budget;
    this.owner = owner;
  }

  /** Bytes. */
  get held(): number {
    return this.#held;
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
    this.#budget.close(this);
  }

  #take(bytes: number, isExpendable: boolean): boolean {
    const take = () => this.#budget.take(bytes, { share: this, isExpendable });
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
