/** Memory for parts, used again and again: as many buffers as there are parts under way. */
export interface Buffers {
  readonly partSize: number;
  /** Enough for `least` bytes, up to a part. */
  take(least: number): Uint8Array;
  /** The bytes have been sent. */
  free(bytes: Uint8Array): void;
}

/** @param size of the whole, when it is known */
export function partBuffers({ partSize, size }: { partSize: number; size?: number }): Buffers {
  const unused: ArrayBufferLike[] = [];
  return {
    partSize,
    take(least) {
      const used = unused.pop();
      if (used) return new Uint8Array(used);
      const room = Math.min(partSize, size ?? Math.max(least, firstRoom));
      return new Uint8Array(Math.max(room, least));
    },
    free(bytes) {
      if (bytes.buffer.byteLength === partSize) unused.push(bytes.buffer);
    },
  };
}

/**
 * The pieces as parts of exactly `partSize` bytes, the last one shorter. They are copied, because a source may use its
 * buffer again; a piece that is larger than a part is cut.
 */
export async function* chunksOf(
  pieces: AsyncIterable<Uint8Array>,
  buffers: Buffers,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { partSize } = buffers;
  let part: Uint8Array | undefined;
  let filled = 0;
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; ) {
      const length = Math.min(piece.length - at, partSize - filled);
      part = withRoom(part, { filled, wanted: filled + length, buffers });
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

/** A source of unknown length that turns out to be small does not cost the memory of a part. */
function withRoom(
  part: Uint8Array | undefined,
  options: { filled: number; wanted: number; buffers: Buffers },
): Uint8Array {
  const { filled, wanted, buffers } = options;
  if (part && part.length >= wanted) return part;
  const least = part ? Math.min(buffers.partSize, Math.max(wanted, part.length * 2)) : wanted;
  const larger = buffers.take(least);
  if (part) larger.set(part.subarray(0, filled));
  return larger;
}

const firstRoom = 1_048_576;
