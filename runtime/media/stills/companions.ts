/** What waits together with others of its group, until one of them does the work of all. */
export class Companions<S, T> {
  readonly #groups = new Map<string, Set<Member<S, T>>>();

  /** Waits in a group. `taken` is aborted when another one of the group does its work; `outcome` is what came of that. */
  join(
    group: string,
    subject: S,
  ): { readonly taken: AbortSignal; readonly outcome: Promise<T>; leave(): void } {
    const members = this.#groups.get(group) ?? new Set();
    const taken = new AbortController();
    const { promise, resolve } = Promise.withResolvers<T>();
    const member = { subject, taken, settle: resolve };
    members.add(member);
    this.#groups.set(group, members);
    return { taken: taken.signal, outcome: promise, leave: () => this.#leave(group, member) };
  }

  /** Takes so many of those that wait in a group, who must all be settled. */
  take(group: string, most: number): readonly { readonly subject: S; settle(outcome: T): void }[] {
    const taken = [...(this.#groups.get(group) ?? [])].slice(0, most);
    for (const member of taken) {
      this.#leave(group, member);
      member.taken.abort();
    }
    return taken;
  }

  #leave(group: string, member: Member<S, T>): void {
    const members = this.#groups.get(group);
    members?.delete(member);
    if (members?.size === 0) this.#groups.delete(group);
  }
}

interface Member<S, T> {
  readonly subject: S;
  readonly taken: AbortController;
  settle(outcome: T): void;
}
