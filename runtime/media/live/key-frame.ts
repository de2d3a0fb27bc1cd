import type { LiveKeyFrame } from '../../../core/ports/media.ts';
import type { LiveWindow } from './window.ts';

/** The newest part of a window with a key frame, and its init. Undefined: there is none. `prefix`: of the names of its files. */
export function newestKeyFrame(window: LiveWindow, prefix: string): LiveKeyFrame | undefined {
  const { nextSequence } = window;
  for (let sequence = nextSequence; sequence >= 0; sequence -= 1) {
    const segment = window.segment(sequence);
    if (segment === undefined) {
      if (sequence < nextSequence) return undefined;
      continue;
    }
    const index = segment.parts.findLastIndex(({ isIndependent }) => isIndependent);
    const part = index < 0 ? undefined : segment.part(index);
    if (part === undefined) continue;
    const { init } = segment;
    const version = `${prefix}_${sequence}.${index}`;
    return { version, init: { id: `${prefix}_${init.id}`, bytes: init.blob }, part };
  }
  return undefined;
}
