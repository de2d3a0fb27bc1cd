/** An actor is named `type/id`; a type has no slash. */
export function nameOf(type: { readonly type: string }, id: string): string {
  return `${type.type}/${id}`;
}

export function typeOf(actor: string): string {
  return actor.slice(0, actor.indexOf('/'));
}

export function idOf(actor: string): string {
  return actor.slice(actor.indexOf('/') + 1);
}

/** The partition of a key: FNV-1a, 32 bits, of its UTF-16 units, modulo the partition count. */
export function partitionOf(key: string, partitions: number): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < key.length; index += 1) {
    hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0) % partitions;
}
