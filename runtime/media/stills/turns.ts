import type { Clock } from '../../../core/ports/clock.ts';

/** So many at a time; others wait in the order in which they came, but not for ever. */
export class Turns {
  readonly #clock: Clock;
  readonly #most: number;
  readonly #patience: number;
  readonly #queue = new Set<() => void>();
  #taken = 0;

  /** @param options `patience` in ms */
  constructor(options: { clock: Clock; most: number; patience: number }) {
    this.#clock = options.clock;
    this.#most = options.most;
    this.#patience = options.patience;
  }

  get taken(): number {
    return this.#taken;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** What gives the turn back, to be called once; undefined: it did not come in time, or the signal was aborted. */
  async take(signal: AbortSignal): Promise<(() => void) | undefined> {
    if (signal.aborted) return undefined;
    if (this.#taken < this.#most) this.#taken += 1;
    else if (!(await this.#wait(signal))) return undefined;
    return () => {
      const [next] = this.#queue;
      // Whoever waits longest has it at once: nobody who comes now is before him.
      if (next) next();
      else this.#taken -= 1;
    };
  }

  /** False: it did not come. */
  #wait(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (isMine: boolean) => {
        this.#queue.delete(come);
        cancel();
        signal.removeEventListener('abort', leave);
        resolve(isMine);
      };
      const come = () => end(true);
      const leave = () => end(false);
      const cancel = this.#clock.at(this.#clock.now() + this.#patience, leave);
      signal.addEventListener('abort', leave);
      this.#queue.add(come);
    });
  }
}
