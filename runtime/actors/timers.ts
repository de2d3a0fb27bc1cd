import type { Clock } from '../../core/ports/clock.ts';

interface Timer {
  readonly actor: string;
  readonly name: string;
  readonly due: number;
}

/** The pending timers of all actors, in memory; the store holds the same. Fires each once, when it is due. */
export class TimerQueue {
  readonly #options: { clock: Clock; fire: (timer: Timer) => void };
  readonly #cancels = new Map<string, Map<string, () => void>>();

  constructor(options: { clock: Clock; fire: (timer: Timer) => void }) {
    this.#options = options;
  }

  /** `due` null removes it; a timer of the same name is replaced. */
  set(timer: { actor: string; name: string; due: number | null }): void {
    const { actor, name, due } = timer;
    this.#cancels.get(actor)?.get(name)?.();
    if (due === null) {
      this.#remove(actor, name);
      return;
    }
    const cancel = this.#options.clock.at(due, () => {
      this.#remove(actor, name);
      this.#options.fire({ actor, name, due });
    });
    const ofActor = this.#cancels.get(actor) ?? new Map<string, () => void>();
    ofActor.set(name, cancel);
    this.#cancels.set(actor, ofActor);
  }

  forget(actor: string): void {
    for (const cancel of this.#cancels.get(actor)?.values() ?? []) cancel();
    this.#cancels.delete(actor);
  }

  stop(): void {
    for (const actor of [...this.#cancels.keys()]) this.forget(actor);
  }

  #remove(actor: string, name: string): void {
    const ofActor = this.#cancels.get(actor);
    ofActor?.delete(name);
    if (ofActor?.size === 0) this.#cancels.delete(actor);
  }
}
