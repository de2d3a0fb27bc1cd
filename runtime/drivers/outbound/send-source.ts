import type { OutboundSource } from '../../../core/ports/outbound.ts';

/**
 * Sends a body piece by piece, the next one only when the peer has room. Returns what is wrong with the source, or
 * `over` when the exchange ended first; the source is told to stop either way.
 */
export async function sendSource(
  source: OutboundSource,
  options: {
    /** False when `drained` has to be waited for. */
    write(bytes: Uint8Array): boolean;
    /** Resolves when there is room, or when the exchange is over. */
    drained(): Promise<void>;
    isOver(): boolean;
    /** Given what to call when the exchange ends while the source is still waited for. */
    onStop(stop: () => void): void;
    onSent: ((bytes: number) => void) | undefined;
  },
): Promise<string | undefined> {
  const { write, drained, isOver, onStop, onSent } = options;
  let sent = 0;
  let chunks: AsyncIterator<Uint8Array> | undefined;
  try {
    chunks = source.chunks()[Symbol.asyncIterator]();
    onStop(() => stop(chunks));
    for (;;) {
      const next = await chunks.next();
      if (isOver()) return 'over';
      if (next.done) {
        chunks = undefined;
        return sent === source.length ? undefined : `the body has ${sent} bytes, not ${source.length}`;
      }
      if (next.value.length === 0) continue;
      sent += next.value.length;
      if (sent > source.length) return `the body has more than ${source.length} bytes`;
      const hasRoom = write(next.value);
      onSent?.(sent);
      if (!hasRoom && !isOver()) await drained();
      if (isOver()) return 'over';
    }
  } catch {
    // What a source throws may tell of paths and names of this machine.
    return 'the body to send could not be read';
  } finally {
    stop(chunks);
  }
}

/** Not awaited: a source that hangs is not to keep the exchange. */
function stop(chunks: AsyncIterator<Uint8Array> | undefined): void {
  chunks?.return?.()?.catch(() => {});
}
