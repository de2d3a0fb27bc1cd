import { open } from 'node:fs/promises';
import type { ForeignFile } from '../../../core/ports/converter.ts';

/** A file of this machine from its beginning to its end, with its index in front. Told with each piece how much was read, 0..1. */
export async function* fileFeed(
  { path, size, foreign: { front } }: ForeignFile,
  { readAtOnce, progress }: { readonly readAtOnce: number; progress(fraction: number): void },
): AsyncGenerator<Uint8Array> {
  const { from, to } = front ?? { from: 0, to: size };
  if (front) yield* front.parts;
  const file = await open(path, 'r');
  try {
    for (let at = from; at < to; ) {
      const bytes = new Uint8Array(Math.min(readAtOnce, to - at));
      const { bytesRead } = await file.read(bytes, 0, bytes.length, at);
      if (bytesRead === 0) throw new Error('the file became shorter while it was read');
      yield bytes.subarray(0, bytesRead);
      at += bytesRead;
      progress((at - from) / (to - from));
    }
  } finally {
    await file.close();
  }
}
