/** A typed name for what one plugin gives to others. Compared by id, so it may be imported twice. */
export interface Token<T> {
  readonly id: string;
  /** Only a type; never set. */
  readonly type?: T;
}

export function token<T>(id: string): Token<T> {
  return { id };
}
