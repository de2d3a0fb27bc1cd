import type { Clock } from '../../core/ports/clock.ts';

/**
 * Stores how far a piece of work is: the last that was said, at most once in `pause` ms. What cannot be stored now is stored the
 * next time.
 */
export function workProgress(options: ProgressOptions): WorkProgress {
  const { clock, pause, store } = options;
  let said = 0;
  let stored = 0;
  let storedAt = clock.now();
  let isEnded = false;
  let cancel: (() => void) | undefined;
  const tell = async () => {
    const fraction = said;
    storedAt = clock.now();
    try {
      await store(fraction);
      stored = fraction;
    } catch {
      // Said again below.
    }
    cancel = undefined;
    plan();
  };
  const plan = () => {
    if (cancel || isEnded || said <= stored) return;
    cancel = clock.at(Math.max(clock.now(), storedAt + pause), () => void tell());
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
  /** 0..1. What is no number, and what is less than before, is passed over. */
  say(fraction: number): void;
  /** Nothing is stored any more. */
  end(): void;
}

interface ProgressOptions {
  readonly clock: Clock;
  /** ms */
  readonly pause: number;
  /** May reject. */
  store(fraction: number): Promise<void>;
}
