import { TimerTries } from '../actors/timers.ts';

export interface Deadline {
  readonly actor: string;
  readonly name: string;
  /** Epoch ms. */
  readonly due: number;
}

/** The pending timers of the actors of a partition. They ring when the log is read up to their time. */
export class Deadlines {
  readonly #timers = new Map<string, Map<string, number>>();
  /** When to look at which actor: a binary heap, the earliest first. One whose timer was moved meanwhile finds nothing. */
  #looks: Look[] = [];
  #size = 0;
  tries = new TimerTries();

  get size(): number {
    return this.#size;
  }

  /** Forgets all, and begins with these. */
  reset(timers: readonly Deadline[]): void {
    this.#timers.clear();
    this.#looks = [];
    this.#size = 0;
    this.tries = new TimerTries();
    for (const timer of timers) this.set(timer);
  }

  /** `due` null removes it; a timer of the same name is replaced. */
  set({ actor, name, due }: { actor: string; name: string; due: number | null }): void {
    const own = this.#timers.get(actor) ?? new Map<string, number>();
    if (own.delete(name)) this.#size -= 1;
    if (due !== null) {
      own.set(name, due);
      this.#size += 1;
      this.lookAt(actor, due);
    }
    if (own.size > 0) this.#timers.set(actor, own);
    else this.#timers.delete(actor);
  }

  /** The actor has ended. */
  forget(actor: string): void {
    this.#size -= this.#timers.get(actor)?.size ?? 0;
    this.#timers.delete(actor);
  }

  /** The timer of this actor that is due first, if one is due by `until`. */
  due(actor: string, until: number): Deadline | undefined {
    let first: Deadline | undefined;
    for (const [name, due] of this.#timers.get(actor) ?? []) {
      if (due <= until && (!first || due < first.due)) first = { actor, name, due };
    }
    return first;
  }

  /** It has rung, unless it was set anew meanwhile. */
  done({ actor, name, due }: Deadline): void {
    if (this.#timers.get(actor)?.get(name) === due) this.set({ actor, name, due: null });
  }

  /** When to look for the first time, epoch ms. */
  get first(): number {
    return this.#looks[0]?.at ?? Number.POSITIVE_INFINITY;
  }

  /** `take` gives this actor at that time, if it has a timer that is due then. */
  lookAt(actor: string, at: number): void {
    // Timers that are set again and again far ahead leave many looks that find nothing.
    if (this.#looks.length > 2 * this.#size + 1000) this.#rebuild();
    push(this.#looks, { at, actor });
  }

  /** Actors with a timer that is due by `until`, at most `limit`; they are not given again. */
  take(until: number, limit: number): string[] {
    const actors = new Set<string>();
    for (
      let first = this.#looks[0];
      first && first.at <= until && actors.size < limit;
      first = this.#looks[0]
    ) {
      pop(this.#looks);
      if (this.due(first.actor, until)) actors.add(first.actor);
    }
    return [...actors];
  }

  #rebuild(): void {
    this.#looks = [];
    for (const [actor, own] of this.#timers) for (const at of own.values()) push(this.#looks, { at, actor });
  }
}

interface Look {
  readonly at: number;
  readonly actor: string;
}

function push(heap: Look[], look: Look): void {
  let at = heap.push(look) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (heap[parent]!.at <= look.at) break;
    heap[at] = heap[parent]!;
    at = parent;
  }
  heap[at] = look;
}

function pop(heap: Look[]): void {
  const last = heap.pop();
  if (!last || heap.length === 0) return;
  let at = 0;
  for (;;) {
    let child = at * 2 + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && heap[child + 1]!.at < heap[child]!.at) child += 1;
    if (heap[child]!.at >= last.at) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = last;
}
