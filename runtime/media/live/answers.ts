import { Fault } from '../../../core/base/fault.ts';
import type { LiveAnswer } from '../../../core/ports/media.ts';

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

export function mediaAnswer(body: Blob | undefined): LiveAnswer {
  if (body === undefined) return missing;
  const answer = { type: 'media', body, size: body.size } as const;
  return body.type.startsWith('text/') ? { ...answer, contentType: body.type } : answer;
}
