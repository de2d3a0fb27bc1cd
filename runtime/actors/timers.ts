import { Fault } from '../../core/base/fault.ts';
import type { Clock } from '../../core/ports/clock.ts';

/** Wait before a timer that could not be run is tried again, ms: doubling up to the longest where a bug is the cause. */
const firstRetry = 1000;
const longestRetry = 60_000;

/** How often the timers of each actor failed in a row: those of a machine with a bug fail for as long as it has that. */
export class TimerTries {
  readonly #tries = new Map<string, number>();

  /** `wait`: until the next try, ms. `isTold`: the log should have it; ever more rarely. */
  failed(actor: string, error: unknown): { wait: number; tries: number; isTold: boolean } {
    const tries = (this.#tries.get(actor) ?? 0) + 1;
    this.#tries.set(actor, tries);
    // An engine that does not answer may do so any moment.
    const wait = error instanceof Fault ? firstRetry : firstRetry * 2 ** Math.min(tries - 1, 10);
    return { wait: Math.min(longestRetry, wait), tries, isTold: (tries & (tries - 1)) === 0 };
  }

  passed(actor: string): void {
    if (this.#tries.size > 0) this.#tries.delete(actor);
  }
}

export interface Timer {
  readonly actor: string;
  readonly name: string;
  /** Epoch ms; may be past. */
  readonly due: number;
}

interface Armed {
  readonly due: number;
  cancel: () => void;
}

/**
 * The pending timers of all actors, in memory; the store holds the same. A timer stays pending after it fired,
 * until the step that it leads to sets it anew or removes it.
 */
export class TimerQueue {
  readonly #options: TimerQueueOptions;
  readonly #armed = new Map<string, Map<string, Armed>>();

  constructor(options: TimerQueueOptions) {
    this.#options = options;
  }

  /** How many are pending. */
  get size(): number {
    let size = 0;
    for (const ofActor of this.#armed.values()) size += ofActor.size;
    return size;
  }

  /** `due` null removes it; a timer of the same name is replaced. */
  set({ actor, name, due }: { actor: string; name: string; due: number | null }): void {
    const ofActor = this.#armed.get(actor) ?? new Map<string, Armed>();
    ofActor.get(name)?.cancel();
    ofActor.delete(name);
    if (due !== null) ofActor.set(name, { due, cancel: this.#arm(actor, due) });
    if (ofActor.size > 0) this.#armed.set(actor, ofActor);
    else this.#armed.delete(actor);
  }

  /** The pending timer of this actor that was due first, if any was by `now`. */
  due(actor: string, now: number): Timer | undefined {
    let first: Timer | undefined;
    for (const [name, { due }] of this.#armed.get(actor) ?? []) {
      if (due <= now && (!first || due < first.due)) first = { actor, name, due };
    }
    return first;
  }

  /** Forgets this very timer; one that was set anew meanwhile stays. */
  done({ actor, name, due }: Timer): void {
    if (this.#armed.get(actor)?.get(name)?.due === due) this.set({ actor, name, due: null });
  }

  /** Fires again at `at` what is due and could not be run. */
  retry(actor: string, options: { now: number; at: number }): void {
    for (const armed of this.#armed.get(actor)?.values() ?? []) {
      if (armed.due > options.now) continue;
      armed.cancel();
      armed.cancel = this.#arm(actor, options.at);
    }
  }

  forget(actor: string): void {
    for (const { cancel } of this.#armed.get(actor)?.values() ?? []) cancel();
    this.#armed.delete(actor);
  }

  stop(): void {
    for (const actor of [...this.#armed.keys()]) this.forget(actor);
  }

  #arm(actor: string, at: number): () => void {
    return this.#options.clock.at(at, () => this.#options.fire(actor));
  }
}

interface TimerQueueOptions {
  readonly clock: Clock;
  /** A timer of this actor is due. */
  fire(actor: string): void;
}
