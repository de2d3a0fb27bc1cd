/** A value that is there, or comes. */
export type Soon<T> = T | Promise<T>;

/**
 * What `next` makes of a value: at once when the value is there. An answer that waits for nothing is sent with its request
 * still in hand; one behind a promise costs the server a copy of the request and turns of the queue.
 */
export function upon<T, R>(value: Soon<T>, next: (value: T) => Soon<R>): Soon<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
