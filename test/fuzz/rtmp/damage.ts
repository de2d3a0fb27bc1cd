/** A copy with a few bytes, runs or whole parts changed, mostly behind `from`. */
export function damage(
  whole: Uint8Array,
  options: { random: () => number; from: number; rounds?: number },
): Uint8Array {
  const { random } = options;
  const below = (most: number) => Math.floor(random() * most);
  let bytes: Uint8Array = whole.slice();
  const rounds = options.rounds ?? 1 + below(6);
  for (let round = 0; round < rounds; round += 1) {
    const from = Math.min(random() < 0.02 ? 0 : options.from, bytes.length);
    const at = from + below(Math.max(1, bytes.length - from));
    const length = 1 + below(random() < 0.8 ? 4 : 200);
    const end = Math.min(at + length, bytes.length);
    const kind = below(8);
    if (kind === 0) bytes[at] = below(256);
    else if (kind === 1) bytes[at] ^= 1 << below(8);
    else if (kind === 2) bytes = joined(bytes.subarray(0, at), bytes.subarray(end));
    else if (kind === 3) {
      const noise = Uint8Array.from({ length }, () => below(256));
      bytes = joined(bytes.subarray(0, at), noise, bytes.subarray(at));
    } else if (kind === 4)
      bytes = joined(bytes.subarray(0, end), bytes.subarray(at, end), bytes.subarray(end));
    else if (kind === 5)
      for (let index = at; index < end; index += 1) bytes[index] = random() < 0.5 ? 0xff : 0;
    else if (kind === 6) bytes = bytes.slice(0, at);
    else
      for (let index = at; index < Math.min(at + 4, end); index += 1)
        bytes[index] = EDGES[below(EDGES.length)];
  }
  return bytes;
}

/** Bytes at the borders of lengths, counts and markers. */
const EDGES = [0, 1, 2, 3, 0x7f, 0x80, 0xc0, 0xfe, 0xff];

function joined(...parts: Uint8Array[]): Uint8Array {
  const out = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** Mulberry32: the same seed, the same inputs. */
export function generator(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
