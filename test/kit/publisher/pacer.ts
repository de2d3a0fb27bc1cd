/**
 * One timer that many broadcasts share: it calls everyone who joined about every `tickMs` (default 10)
 * with the monotone clock in milliseconds, and rests while there is none.
 */
export function pacer(options: { tickMs?: number } = {}): Pacer {
  const members = new Set<(now: number) => void>();
  let timer: ReturnType<typeof setInterval> | undefined;
  const tick = (): void => {
    const now = performance.now();
    for (const call of members) call(now);
  };
  return {
    join(call) {
      members.add(call);
      timer ??= setInterval(tick, options.tickMs ?? 10);
      return () => {
        members.delete(call);
        if (members.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
  };
}

export interface Pacer {
  /** Answers how to leave again. */
  join(call: (now: number) => void): () => void;
}
