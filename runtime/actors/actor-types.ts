import type { ActorType, RowIds } from '../../core/plugin/actor.ts';
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

  /** Which ids the rows of this kind have that actors write; undefined: no actor writes any. */
  idsOf(kind: string): RowIds | undefined {
    const all = [...this.#types.values()].flatMap(({ type }) => type.kinds?.[kind] ?? []);
    return all.includes('any') ? 'any' : all[0];
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
