import type { AnyMachineSnapshot } from 'xstate';
import { HotActors } from '../actors/hot.ts';

export interface ActorState {
  readonly snapshot: AnyMachineSnapshot;
  readonly sequence: number;
}

/**
 * The actors of a partition as their last step left them, whether that is stored yet or not. What is not stored is kept
 * until it is; of the others those that were used last.
 */
export class States {
  /** Actors with steps that are not known to be stored: `state` is null where the last of them ends it. */
  readonly #ahead = new Map<string, { state: ActorState | null; steps: number }>();
  readonly #stored: HotActors;

  constructor(limit: number) {
    this.#stored = new HotActors(limit);
  }

  get size(): number {
    return this.#ahead.size + this.#stored.size;
  }

  /** Null: it has ended. Undefined: the store must be asked. */
  get(actor: string): ActorState | null | undefined {
    const ahead = this.#ahead.get(actor);
    return ahead ? ahead.state : this.#stored.get(actor);
  }

  /** As the store has it. */
  keep(actor: string, state: ActorState): void {
    this.#stored.put(actor, state);
  }

  /** A step was sent to the store. */
  stepped(actor: string, state: ActorState | null): void {
    const steps = (this.#ahead.get(actor)?.steps ?? 0) + 1;
    this.#ahead.set(actor, { state, steps });
    this.#stored.drop(actor);
  }

  /** The oldest of its steps is stored. */
  stored(actor: string): void {
    const ahead = this.#ahead.get(actor);
    if (!ahead) return;
    ahead.steps -= 1;
    if (ahead.steps > 0) return;
    this.#ahead.delete(actor);
    if (ahead.state) this.#stored.put(actor, ahead.state);
  }
}
