import type { BlobSource } from '../ports/blobs.ts';
import { wrongLength } from './faults.ts';

/**
 * The pieces of a source, none of them empty. Throws what the source throws, the signal's reason as soon as it is aborted, and
 * Fault `blobs.wrong_length` when they are not `size` bytes. A source that is not read to its end is stopped.
 */
export async function* piecesOf(
  source: BlobSource,
  options: { size?: number; signal?: AbortSignal },
): AsyncGenerator<Uint8Array, void, undefined> {
  const { size, signal } = options;
  signal?.throwIfAborted();
  if (source instanceof Uint8Array) {
    checkLength(source.length, { size, isEnd: true });
    if (source.length > 0) yield source;
    return;
  }
  const pieces = source[Symbol.asyncIterator]();
  const aborted = abortOf(signal);
  let bytes = 0;
  let isOver = false;
  try {
    for (;;) {
      const next = await Promise.race([pieces.next(), aborted.promise]);
      signal?.throwIfAborted();
      isOver = next.done === true;
      if (next.done) break;
      if (next.value.length === 0) continue;
      bytes += next.value.length;
      checkLength(bytes, { size, isEnd: false });
      yield next.value;
      signal?.throwIfAborted();
    }
    checkLength(bytes, { size, isEnd: true });
  } finally {
    aborted.end();
    // Not awaited: a source that hangs must not keep the caller.
    if (!isOver) pieces.return?.()?.catch(() => {});
  }
}

/** A promise that rejects when the signal is aborted. `end` forgets it. */
function abortOf(signal: AbortSignal | undefined): { promise: Promise<never>; end(): void } {
  const { promise, reject } = Promise.withResolvers<never>();
  // It may not be awaited at that moment.
  promise.catch(() => {});
  const onAbort = () => reject(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted) onAbort();
  return { promise, end: () => signal?.removeEventListener('abort', onAbort) };
}

function checkLength(bytes: number, { size, isEnd }: { size: number | undefined; isEnd: boolean }): void {
  if (size === undefined) return;
  if (bytes > size) throw wrongLength(`the source gave more than the ${size} bytes it was said to have`);
  if (isEnd && bytes < size) {
    throw wrongLength(`the source gave ${bytes} of the ${size} bytes it was said to have`);
  }
}
