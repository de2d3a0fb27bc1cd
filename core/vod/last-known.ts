import { Fault } from '../base/fault.ts';

/**
 * Finds things as `look` does. While that is answered with 503 (an outage of the store), what it found last counts, so that
 * whoever watches goes on watching; what was deleted elsewhere meanwhile is still found. Bounded: what was asked for longest
 * ago is forgotten.
 */
export function lastKnown<T>(
  look: (key: string) => Promise<T | undefined>,
  { most }: { most: number },
): (key: string) => Promise<T | undefined> {
  const known = new Map<string, T>();
  return async (key) => {
    let found: T | undefined;
    try {
      found = await look(key);
    } catch (error) {
      const last = known.get(key);
      if (last !== undefined && error instanceof Fault && error.status === 503) return last;
      throw error;
    }
    known.delete(key);
    if (found === undefined) return undefined;
    known.set(key, found);
    if (known.size > most) known.delete(known.keys().next().value as string);
    return found;
  };
}
