/**
 * Names as BullMQ takes them: its keys are joined by colons, so none may be in a name. Reversible, and the same for
 * whatever has neither colon nor percent sign, so that its own tools show what it is.
 */
export function encoded(name: string): string {
  return name.replaceAll('%', '%25').replaceAll(':', '%3A');
}

export function decoded(name: string): string {
  return name.replaceAll('%3A', ':').replaceAll('%25', '%');
}

/** An effect id ends with its kind, which has no slash. */
export function kindOf(id: string): string {
  return id.slice(id.lastIndexOf('/') + 1);
}

/** Groups, in the order of their first members. */
export function grouped<Item>(items: readonly Item[], groupOf: (item: Item) => string): [string, Item[]][] {
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const name = groupOf(item);
    const group = groups.get(name);
    if (group) group.push(item);
    else groups.set(name, [item]);
  }
  return [...groups];
}
