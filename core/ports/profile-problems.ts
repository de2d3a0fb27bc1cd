import type { RenditionProfile } from './transcoder.ts';

/** Seconds from one picture of a profile to the next. */
const maxInterval = 10;

/** What is wrong with a profile that its schema does not say, each problem as it follows the name of the field and a dot. */
export function profileProblems({ fps, fpsDen = 1 }: Pick<RenditionProfile, 'fps' | 'fpsDen'>): string[] {
  if (fps === 0 || fpsDen / fps <= maxInterval) return [];
  return [`fps: expected 0, or at least a picture in ${maxInterval} s (fps / fpsDen)`];
}
