import { inspect } from 'node:util';

/**
 * Asks `probe` until it answers something (not false, null or undefined) and hands that back. A probe that throws has
 * not answered yet. After `within` ms: an error that says what was awaited and what was seen last.
 */
export async function until<T>(
  what: string,
  probe: () => Promise<T | Nothing> | T | Nothing,
  options: { within: number; every?: number },
): Promise<T> {
  const deadline = performance.now() + options.within;
  for (;;) {
    let seen: unknown;
    try {
      const answer = await probe();
      if (answer !== false && answer !== null && answer !== undefined) return answer;
      seen = answer;
    } catch (error) {
      seen = error;
    }
    if (performance.now() >= deadline) {
      throw new Error(`waited ${options.within} ms for ${what}; last seen: ${inspect(seen, { depth: 4 })}`);
    }
    await Bun.sleep(options.every ?? 50);
  }
}

/** Lets a length of time that the scenario itself names go by (an outage of 20 s). Never to wait for something. */
export const lasting = (ms: number): Promise<void> => Bun.sleep(ms);

type Nothing = false | null | undefined;
