/**
 * What can be ended from outside: by whoever asked for it, and all of it at once when the driver is closed. (Not
 * `AbortSignal.any` on one signal that lives as long as the program: it would be listened to once for each call ever made.)
 */
export interface Endings {
  /** `end` when it is over by itself. */
  begin(signal?: AbortSignal): { readonly signal: AbortSignal; end(): void };
  endAll(reason: unknown): void;
}

export function endings(): Endings {
  const open = new Set<AbortController>();
  return {
    begin(signal) {
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
    endAll(reason) {
      for (const one of [...open]) one.abort(reason);
    },
  };
}
