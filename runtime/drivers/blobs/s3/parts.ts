/**
 * The pieces as parts of exactly `partSize` bytes, the last one shorter. They are copied, because a source may use its
 * buffer again; a piece that is larger than a part is cut. Each part has memory of its own.
 *
 * @param options `most`: bytes of the whole, where that is known
 */
export async function* chunksOf(
  pieces: AsyncIterable<Uint8Array>,
  { partSize, most }: { partSize: number; most: number },
): AsyncGenerator<Uint8Array, void, undefined> {
  let part: Uint8Array | undefined;
  let filled = 0;
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; ) {
      part ??= new Uint8Array(Math.min(partSize, most));
      const length = Math.min(piece.length - at, partSize - filled);
      part.set(piece.subarray(at, at + length), filled);
      at += length;
      filled += length;
      if (filled < partSize) continue;
      yield part;
      part = undefined;
      filled = 0;
    }
  }
  if (part && filled > 0) yield part.subarray(0, filled);
}
