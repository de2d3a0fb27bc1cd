/** Long work in pieces of a few milliseconds at most. Whoever drives it lets others have their turn at each `yield`. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** All of it, one piece after the other, with a turn of the event loop between. */
export async function inTurns<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    await turn();
  }
}

/** What else waits in this thread has its turn. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
