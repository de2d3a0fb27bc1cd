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
