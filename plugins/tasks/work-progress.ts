import type { Clock } from '../../core/ports/clock.ts';

/** Stores the last reported progress, at most once in `pause` ms. What cannot be stored now is stored the next time. */
export function workProgress(options: ProgressOptions): WorkProgress {
  const { clock, pause, store } = options;
  let said = 0;
  let stored = 0;
  let storedAt = clock.now();
  let isEnded = false;
  let cancel: (() => void) | undefined;
  const write = async () => {
    const fraction = said;
    storedAt = clock.now();
    try {
      await store(fraction);
      stored = fraction;
    } catch {
      // Planned again below.
    }
    cancel = undefined;
    plan();
  };
  const plan = () => {
    if (cancel || isEnded || said <= stored) return;
    cancel = clock.at(Math.max(clock.now(), storedAt + pause), () => void write());
  };
  return {
    say(fraction) {
      if (!(fraction > said)) return;
      said = Math.min(1, fraction);
      plan();
    },
    end() {
      isEnded = true;
      cancel?.();
    },
  };
}

export interface WorkProgress {
  /** 0..1. NaN, and less than before, is ignored. */
  say(fraction: number): void;
  /** Stops storing. */
  end(): void;
}

interface ProgressOptions {
  readonly clock: Clock;
  /** ms */
  readonly pause: number;
  /** May reject. */
  store(fraction: number): Promise<void>;
}
