import { codeOf, isDiskFull } from '../../base/disk.ts';

/** Why a recording is not written, for the person at the encoder and the operator. */
export const troubles = {
  full: 'The disk of the server is full; this part of the broadcast is missing from the recording. Free some space.',
  low: 'The disk of the server is nearly full; this part of the broadcast is missing from the recording. Free some space.',
  lowFirst:
    'The disk of the server is nearly full, so the recording of this broadcast has not begun. Free some space and it begins.',
  slow: 'The disk of the server is too slow; a part of the broadcast is missing from the recording.',
  large: 'The recording has reached its largest size; the rest of this session is missing from it.',
  changes:
    'The settings of the encoder changed too often; what was sent with new ones is missing from the recording.',
  thread: 'The recorder was restarted; a part of the broadcast is missing from the recording.',
  disk: (code: string) =>
    `The disk of the server does not take the recording (${code}); this part of the broadcast is missing from it.`,
  rendition: 'Renditions are missing from a part of the recording; it shows the source there.',
  unknown: 'This part of the broadcast cannot be recorded. The log of the server says why.',
};

/** Why parts are missing, for metrics. */
export const gapReasons = ['full', 'low', 'slow', 'large', 'changes', 'thread', 'disk', 'unknown'] as const;
export type GapReason = (typeof gapReasons)[number];

export function reasonOf(trouble: string): GapReason {
  if (trouble === troubles.lowFirst) return 'low';
  return gapReasons.find((reason) => troubles[reason] === trouble) ?? 'disk';
}

/** What an error of the disk means. */
export function troubleOf(error: unknown): string {
  if (isFull(error)) return troubles.full;
  const code = codeOf(error);
  return code === '' ? troubles.unknown : troubles.disk(code);
}

/** Whether a recording has no room; for one, a file that grows no further is no different. */
export function isFull(error: unknown): boolean {
  return isDiskFull(error) || codeOf(error) === 'EFBIG';
}
