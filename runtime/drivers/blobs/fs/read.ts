import type { FileHandle } from 'node:fs/promises';
import { closed, unavailable } from '../faults.ts';
import { onDisk } from './disk.ts';
import { piece } from './scratch.ts';

/**
 * Bytes `from` up to `to` of an open file, read when they are asked for and closed at the end. A file that ends before is a
 * Fault, never a short body.
 */
export function fileStream(
  handle: FileHandle,
  options: { what: string; from: number; to: number; signal?: AbortSignal; onEnd?: () => void },
): ReadableStream<Uint8Array> {
  const { what, from, to, signal, onEnd } = options;
  let at = from;
  let isOpen = true;
  let onAbort = () => {};
  const end = async () => {
    if (!isOpen) return;
    isOpen = false;
    signal?.removeEventListener('abort', onAbort);
    onEnd?.();
    await handle.close().catch(() => {});
  };
  return new ReadableStream<Uint8Array>(
    {
      async start(controller) {
        onAbort = () => {
          controller.error(signal?.reason ?? closed());
          void end();
        };
        signal?.addEventListener('abort', onAbort, { once: true });
        if (signal?.aborted) return onAbort();
        if (at === to) {
          controller.close();
          await end();
        }
      },
      async pull(controller) {
        try {
          const wanted = Math.min(piece, to - at);
          const { bytesRead, buffer } = await onDisk(
            what,
            handle.read(new Uint8Array(wanted), 0, wanted, at),
          );
          if (!isOpen) return;
          if (bytesRead === 0) throw unavailable(`${what} ends at ${at}, before ${to}`);
          at += bytesRead;
          controller.enqueue(bytesRead === wanted ? buffer : buffer.subarray(0, bytesRead));
          if (at < to) return;
          controller.close();
          await end();
        } catch (error) {
          // An abort that closed the file while it was read has told the reader already.
          if (!isOpen) return;
          await end();
          controller.error(error);
        }
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}
