import { profileLimits } from '../base/limits.ts';
import type { RenditionProfile } from './transcoder.ts';

/** What is wrong with a profile that its schema does not say, each problem as it follows the name of the field and a dot. */
export function profileProblems({ fps, fpsDen = 1 }: Pick<RenditionProfile, 'fps' | 'fpsDen'>): string[] {
  const { value: most } = profileLimits.interval;
  if (fps === 0 || fpsDen / fps <= most) return [];
  return [`fps: expected 0, or at least a picture in ${most} s (fps / fpsDen)`];
}
