import type { Clock } from '../ports/clock.ts';

/** Does something again and again, the first time after `interval` ms. What it begins is not waited for. Returns the stop. */
export function every(interval: number, options: { clock: Clock; work: () => void }): () => void {
  const { clock, work } = options;
  let cancel = () => {};
  const schedule = () => {
    cancel = clock.at(clock.now() + interval, () => {
      schedule();
      work();
    });
  };
  schedule();
  return () => cancel();
}
