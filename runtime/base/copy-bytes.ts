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

/**
 * Frees the memory behind `bytes` now. An idle process never makes the full collection that would free it, so what
 * broadcasts held would stay with the process. Whoever still holds these bytes finds them empty. Does nothing when they
 * are a piece of something larger.
 */
export function freeBytes(bytes: Uint8Array): void {
  const { buffer } = bytes;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength) buffer.transfer(0);
}
