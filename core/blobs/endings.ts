/**
 * Ends what runs: each call by its own signal, and all of them when the driver is closed. (Not `AbortSignal.any` on one signal that
 * lives as long as the program: it would be listened to once for each call ever made.)
 */
export function endings() {
  const open = new Set<AbortController>();
  return {
    /** Call `end` when it is over by itself. */
    begin(signal?: AbortSignal): { readonly signal: AbortSignal; end(): void } {
      const own = new AbortController();
      const onAbort = () => own.abort(signal?.reason);
      signal?.addEventListener('abort', onAbort, { once: true });
      if (signal?.aborted) onAbort();
      open.add(own);
      const end = () => {
        open.delete(own);
        signal?.removeEventListener('abort', onAbort);
      };
      return { signal: own.signal, end };
    },
    endAll(reason: unknown): void {
      for (const one of [...open]) one.abort(reason);
    },
  };
}
