import type { FileHandle } from 'node:fs/promises';
import { pulledStream } from '../../../base/pulled-stream.ts';
import { unavailable } from '../faults.ts';
import { onDisk } from './disk.ts';
import { piece } from './scratch.ts';

/** Bytes `from` up to `to` of an open file, which is closed at the end. A file that ends before is a Fault, never a short body. */
export function fileStream(
  handle: FileHandle,
  options: { what: string; from: number; to: number; signal?: AbortSignal; onEnd?: () => void },
): ReadableStream<Uint8Array> {
  const { what, from, to, signal, onEnd } = options;
  let at = from;
  return pulledStream({
    ...(signal && { signal }),
    isDone: () => at >= to,
    async next() {
      const wanted = Math.min(piece, to - at);
      const { bytesRead, buffer } = await onDisk(what, handle.read(new Uint8Array(wanted), 0, wanted, at));
      if (bytesRead === 0) throw unavailable(`${what} ends at ${at}, before ${to}`);
      at += bytesRead;
      return bytesRead === wanted ? buffer : buffer.subarray(0, bytesRead);
    },
    async end() {
      onEnd?.();
      await handle.close().catch(() => {});
    },
  });
}
