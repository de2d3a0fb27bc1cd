import type { Clock } from '../../core/ports/clock.ts';

export interface VirtualClock extends Clock {
  /** Moves time on by `ms`, running what falls due on the way in the order of its due times. */
  advance(ms: number): Promise<void>;
  /** Actions that wait for their time. */
  pending(): number;
}

interface Waiting {
  readonly due: number;
  readonly number: number;
  readonly action: () => void;
}

/** Macrotask turns that an action's promises get before time moves on. */
const turns = 3;

/**
 * A clock that moves only when told to. `idle` resolves when work that leaves this thread is done (the store's
 * worker answers by message, which no number of turns here waits for).
 */
export function virtualClock(options: { start: number; idle?: () => Promise<void> }): VirtualClock {
  let now = options.start;
  let number = 0;
  const waiting = new Set<Waiting>();

  const next = (until: number): Waiting | undefined => {
    let first: Waiting | undefined;
    for (const one of waiting) {
      if (one.due > until) continue;
      if (!first || one.due < first.due || (one.due === first.due && one.number < first.number)) first = one;
    }
    return first;
  };

  const run = (one: Waiting) => {
    waiting.delete(one);
    now = Math.max(now, one.due);
    one.action();
  };

  const settle = async () => {
    await macrotasks();
    if (!options.idle) return;
    await options.idle();
    await macrotasks();
  };

  return {
    now: () => now,
    at(due, action) {
      const one: Waiting = { due, number: ++number, action };
      waiting.add(one);
      // What is past runs at once, as with the system's clock, and not only when time moves.
      if (due <= now) {
        queueMicrotask(() => {
          const first = next(now);
          if (first) run(first);
        });
      }
      return () => waiting.delete(one);
    },
    async advance(ms) {
      const until = now + ms;
      await settle();
      for (let one = next(until); one; one = next(until)) {
        run(one);
        await settle();
      }
      now = Math.max(now, until);
      await settle();
    },
    pending: () => waiting.size,
  };
}

async function macrotasks(): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}
