import type { Clock } from '../../../core/ports/clock.ts';

/** Rings once, at the earliest of the times that it was set to since it rang last. */
export class Alarm {
  readonly #clock: Clock;
  readonly #ring: () => void;
  #set: { at: number; cancel: () => void } | undefined;

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Epoch ms; a time that is past means at once. */
  setFor(at: number): void {
    if (this.#set && this.#set.at <= at) return;
    this.#set?.cancel();
    const cancel = this.#clock.at(at, () => {
      this.#set = undefined;
      this.#ring();
    });
    this.#set = { at, cancel };
  }

  clear(): void {
    this.#set?.cancel();
    this.#set = undefined;
  }
}
