/**
 * Frees the memory behind `bytes` now. An idle process never makes the full collection that would free it, so what
 * broadcasts held would stay with the process. Whoever still holds these bytes finds them empty. Does nothing when they
 * are a piece of something larger.
 */
export function freeBytes(bytes: Uint8Array): void {
  const { buffer } = bytes;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === bytes.byteLength) buffer.transfer(0);
}
