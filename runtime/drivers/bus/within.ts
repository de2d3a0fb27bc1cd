import type { Clock } from '../../../core/ports/clock.ts';

/** The work's result, or a rejection after `ms`; the work itself goes on. */
export function within<T>(work: Promise<T>, options: { ms: number; clock: Clock; what: string }): Promise<T> {
  const { ms, clock, what } = options;
  return new Promise((resolve, reject) => {
    const cancel = clock.at(clock.now() + ms, () => reject(new Error(`${what} took longer than ${ms} ms`)));
    work.then(resolve, reject).finally(cancel);
  });
}

/** Resolves after `ms`. */
export function pause(ms: number, clock: Clock): Promise<void> {
  return new Promise((resolve) => void clock.at(clock.now() + ms, resolve));
}
