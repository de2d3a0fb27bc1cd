/**
 * Memory that two threads share: the main one copies parts in, the writing one takes them out in the same order. A copy
 * into memory that is used again and again costs a third of a buffer that changes hands, and leaves nothing to collect.
 */
export interface RingMemory {
  readonly bytes: SharedArrayBuffer;
  /** [0]: how many parts have been taken out, modulo 2^32. */
  readonly taken: SharedArrayBuffer;
}

export function ringMemory(size: number): RingMemory {
  return { bytes: new SharedArrayBuffer(size), taken: new SharedArrayBuffer(4) };
}

/** The main thread's end. */
export class PartRing {
  readonly #view: Uint8Array;
  readonly #taken: Int32Array;
  readonly #perTake: number;
  readonly #spare: number;
  readonly #held = new Map<number, number>();
  #waiting: Held[] = [];
  #first = 0;
  #seen = 0;
  /** Bytes of all. */
  #used = 0;

  /** @param options bytes. `perTake`: of one take; `spare`: how much of all may be in use for what is worth less to be put in */
  constructor(memory: RingMemory, options: { perTake: number; spare?: number }) {
    this.#view = new Uint8Array(memory.bytes);
    this.#taken = new Int32Array(memory.taken);
    this.#perTake = options.perTake;
    this.#spare = options.spare ?? this.#view.length;
  }

  /** Copies it and tells where it is; undefined when there is no room. `isSpare`: it is worth less than others. */
  put(take: number, bytes: Uint8Array, { isSpare = false } = {}): number | undefined {
    this.#collect();
    const room = Math.ceil(Math.max(bytes.length, 1) / GRAIN) * GRAIN;
    const held = this.#held.get(take) ?? 0;
    if (held + room > this.#perTake) return undefined;
    if (isSpare && this.#used + room > this.#spare) return undefined;
    const at = this.#place(room);
    if (at === undefined) return undefined;
    this.#view.set(bytes, at);
    this.#waiting.push({ take, at, room });
    this.#held.set(take, held + room);
    this.#used += room;
    return at;
  }

  #place(room: number): number | undefined {
    const first = this.#waiting[this.#first];
    const last = this.#waiting.at(-1);
    const size = this.#view.length;
    // Empty: from the start again, where memory is warm, and the rest of it is never touched.
    if (!first || !last) return room <= size ? 0 : undefined;
    const end = last.at + last.room;
    if (last.at < first.at) return end + room <= first.at ? end : undefined;
    if (end + room <= size) return end;
    return room <= first.at ? 0 : undefined;
  }

  /** Forgets what the other thread has taken out. */
  #collect(): void {
    const taken = Atomics.load(this.#taken, 0);
    for (let count = (taken - this.#seen) | 0; count > 0; count--) {
      const { take, room } = this.#waiting[this.#first++]!;
      const held = (this.#held.get(take) ?? 0) - room;
      this.#used -= room;
      if (held > 0) this.#held.set(take, held);
      else this.#held.delete(take);
    }
    this.#seen = taken;
    if (this.#first < this.#waiting.length && this.#first < LOOSE) return;
    this.#waiting = this.#waiting.slice(this.#first);
    this.#first = 0;
  }
}

interface Held {
  readonly take: number;
  readonly at: number;
  readonly room: number;
}

/** Small parts count as a page, so that their number is bounded too. */
const GRAIN = 0x1000;
/** Entries that are gone and still lie in the array. */
const LOOSE = 0x400;
