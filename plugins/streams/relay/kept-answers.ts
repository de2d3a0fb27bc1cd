/** An answer of another node. Its bytes are shared by all who get it. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Blob;
}

/**
 * Answers that may be given again for a while, in a fixed number of bytes: those asked for longest ago make room. What
 * is still being read counts too.
 */
export class KeptAnswers {
  readonly #limit: number;
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  /** @param options.bytes the most that all of them hold together */
  constructor(options: { bytes: number }) {
    this.#limit = options.bytes;
  }

  /** Held now, kept or about to be. */
  get bytes(): number {
    return this.#bytes;
  }

  get(key: string, now: number): Answer | undefined {
    const found = this.#kept.get(key);
    if (found === undefined) return undefined;
    this.#kept.delete(key);
    if (found.until <= now) {
      this.#bytes -= found.bytes;
      return undefined;
    }
    this.#kept.set(key, found);
    return found.answer;
  }

  /** Room for an answer that is about to be read; undefined when there is none however much is thrown out. */
  reserve(bytes: number): Room | undefined {
    for (const [key, old] of this.#kept) {
      if (this.#bytes + bytes <= this.#limit) break;
      this.#kept.delete(key);
      this.#bytes -= old.bytes;
    }
    if (this.#bytes + bytes > this.#limit) return undefined;
    this.#bytes += bytes;
    let isOpen = true;
    const close = () => {
      if (isOpen) this.#bytes -= bytes;
      isOpen = false;
    };
    return {
      release: close,
      keep: (key, { answer, until }) => {
        close();
        const before = this.#kept.get(key);
        if (before) this.#bytes -= before.bytes;
        this.#kept.delete(key);
        this.#kept.set(key, { answer, until, bytes });
        this.#bytes += bytes;
      },
    };
  }
}

export interface Room {
  /** Gives the answer to others until then, epoch ms. */
  keep(key: string, kept: { answer: Answer; until: number }): void;
  release(): void;
}

interface Kept {
  readonly answer: Answer;
  readonly until: number;
  readonly bytes: number;
}
