import type { ActorType } from '../../core/plugin/actor.ts';
import { typeOf } from './actor-name.ts';

export interface RegisteredType {
  readonly type: ActorType;
  /** Given to the type's `describe`. */
  readonly tools: unknown;
}

/** The types of actors that enabled plugins declare. */
export class ActorTypes {
  readonly #types: ReadonlyMap<string, RegisteredType>;

  constructor(types: readonly RegisteredType[]) {
    this.#types = new Map(types.map((entry) => [entry.type.type, entry]));
  }

  get names(): readonly string[] {
    return [...this.#types.keys()];
  }

  /** Whether rows of this kind are written by actors. */
  writes(kind: string): boolean {
    return [...this.#types.values()].some(({ type }) => type.kinds?.includes(kind));
  }

  /** Whether an actor's type is of an enabled plugin. */
  knows(actor: string): boolean {
    return this.#types.has(typeOf(actor));
  }

  /** The type of an actor, which must be known. */
  of(actor: string): RegisteredType {
    return this.registered({ type: typeOf(actor) });
  }

  registered({ type }: { readonly type: string }): RegisteredType {
    const entry = this.#types.get(type);
    if (!entry) throw new Error(`actor type ${type} is not declared by an enabled plugin`);
    return entry;
  }
}
