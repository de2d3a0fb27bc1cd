/** Those that wait, by name, in the order in which the names have their turn. */
const waiting = new Map<string, (() => void)[]>();

/**
 * Resolves in another turn of the event loop, where nobody else is let go on: for a piece of long work, about a millisecond of the
 * thread that serves everyone. Names have their turn one after the other, so whoever has much to do waits for its own.
 */
export function fairTurn(name: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const own = waiting.get(name);
  if (own) own.push(resolve);
  else waiting.set(name, [resolve]);
  if (!own && waiting.size === 1) setImmediate(next);
  return promise;
}

function next(): void {
  const [first] = waiting;
  if (!first) return;
  const [name, own] = first;
  waiting.delete(name);
  const goOn = own.shift();
  // Behind the other names.
  if (own.length > 0) waiting.set(name, own);
  if (waiting.size > 0) setImmediate(next);
  goOn?.();
}
