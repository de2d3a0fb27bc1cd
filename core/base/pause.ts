import type { Clock } from '../ports/clock.ts';

/** Resolves at `due` (epoch ms), or as soon as the signal is aborted. */
export function pause(due: number, options: { clock: Clock; signal: AbortSignal }): Promise<void> {
  const { clock, signal } = options;
  return new Promise((resolve) => {
    const end = () => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.at(due, end);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end);
  });
}
