import { Fault } from '../../../core/base/fault.ts';
import type { LiveAnswer } from '../../../core/ports/media.ts';
import type { SegmentMedia } from './segment.ts';

/** Codes as the streams plugin lists them. Made once: asking for what is not there allocates nothing. */
export const missing = new Fault('playback.not_live', {
  status: 404,
  message: 'Nothing is being broadcast here right now.',
  retryAfter: 1,
});
export const unrecorded = new Fault('playback.not_recorded', {
  status: 404,
  message: 'This broadcast is not recorded, or nothing of it is written yet. Without dvr=1 it plays live.',
  retryAfter: 1,
});
export const busy = new Fault('playback.too_many_waiting', {
  status: 503,
  message: 'Too many requests wait here, or no media comes. Try again.',
  retryAfter: 1,
});

export function refusal(message: string): Fault {
  return new Fault('playback.not_soon', { status: 400, message });
}

export function mediaAnswer(media: SegmentMedia | Blob | undefined): LiveAnswer {
  if (media === undefined) return missing;
  if (!(media instanceof Blob)) return { type: 'media', ...media };
  const answer = { type: 'media', body: media, size: media.size } as const;
  return media.type.startsWith('text/') ? { ...answer, contentType: media.type } : answer;
}
