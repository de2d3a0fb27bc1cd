/** Copies `count` bytes. A short copy costs less by a loop than the view that `set` needs. */
export function copyBytes(
  from: Uint8Array,
  fromAt: number,
  to: Uint8Array,
  toAt: number,
  count: number,
): void {
  if (count < 64) for (let index = 0; index < count; index += 1) to[toAt + index] = from[fromAt + index];
  else to.set(from.subarray(fromAt, fromAt + count), toAt);
}
