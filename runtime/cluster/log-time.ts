import type { Clock } from '../../core/ports/clock.ts';

/**
 * Time as the log of a partition tells it: it moves when the log is known to be read up to a moment, so no timer can
 * run ahead of a record that was written before it was due.
 */
export class LogTime implements Clock {
  #now = Number.NEGATIVE_INFINITY;
  /** A binary heap, the earliest first; what was cancelled stays until its time or until there is too much of it. */
  #heap: Alarm[] = [];
  #cancelled = 0;

  now(): number {
    return this.#now;
  }

  /** Unlike with a system's clock, what is past waits for the next `reach` too. */
  at(due: number, action: () => void): () => void {
    const alarm: Alarm = { due, action, isCancelled: false };
    this.#push(alarm);
    return () => {
      if (alarm.isCancelled) return;
      alarm.isCancelled = true;
      this.#cancelled += 1;
      if (this.#cancelled * 2 > this.#heap.length) this.#compact();
    };
  }

  /** It is this late now, or later already. Runs what is due, earliest first. */
  reach(now: number): void {
    if (now > this.#now) this.#now = now;
    for (let first = this.#heap[0]; first && first.due <= this.#now; first = this.#heap[0]) {
      this.#pop();
      if (first.isCancelled) {
        this.#cancelled -= 1;
        continue;
      }
      // A cancel that comes after it means nothing.
      first.isCancelled = true;
      first.action();
    }
  }

  #compact(): void {
    const kept = this.#heap.filter(({ isCancelled }) => !isCancelled);
    this.#heap = [];
    this.#cancelled = 0;
    for (const alarm of kept) this.#push(alarm);
  }

  #push(alarm: Alarm): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(alarm);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (heap[parent]!.due <= alarm.due) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = alarm;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (!last || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && heap[child + 1]!.due < heap[child]!.due) child += 1;
      if (heap[child]!.due >= last.due) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}

interface Alarm {
  readonly due: number;
  readonly action: () => void;
  isCancelled: boolean;
}
