/** Long work in pieces of a few milliseconds. At each `yield` the caller may do something else. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** All of it, with a turn of the event loop after each piece. */
export async function inTurns<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    await turn();
  }
}

export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
