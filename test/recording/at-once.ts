import type { Steps } from '../../runtime/media/recording/file/steps.ts';

/** All of it, with nobody else in between. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}
