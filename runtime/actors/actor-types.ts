import type { Fault } from '../../core/base/fault.ts';
import type { ActorType, RowIds } from '../../core/plugin/actor.ts';
import { typeOf } from './actor-name.ts';

export interface RegisteredType {
  readonly type: ActorType;
  /** Given to the type's `describe`. */
  readonly tools: unknown;
  /** Its plugin failed at the start, so that no step of it is taken: why. */
  readonly failure?: Fault | undefined;
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

  /** Whether an actor's type is of an enabled plugin that works. */
  knows(actor: string): boolean {
    const entry = this.#types.get(typeOf(actor));
    return entry !== undefined && entry.failure === undefined;
  }

  /** Why nothing is done with an actor whose plugin failed at the start; undefined where it may be. */
  failureOf(actor: string): Fault | undefined {
    return this.#types.get(typeOf(actor))?.failure;
  }

  /** The type of an actor, which must be known. Fault `plugin.failed` (503). */
  of(actor: string): RegisteredType {
    return this.registered({ type: typeOf(actor) });
  }

  registered({ type }: { readonly type: string }): RegisteredType {
    const entry = this.#types.get(type);
    if (!entry) throw new Error(`actor type ${type} is not declared by an enabled plugin`);
    if (entry.failure) throw entry.failure;
    return entry;
  }
}
