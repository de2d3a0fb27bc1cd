import { Fault } from '../../core/base/fault.ts';

/** There is no such playlist now, or no such part of it. */
export function notOn(): Fault {
  return new Fault('playback.not_live', {
    status: 404,
    message: 'Nothing is being broadcast here right now.',
    retryAfter: 1,
  });
}

export function tooMany(): Fault {
  return new Fault('playback.too_many_waiting', {
    status: 503,
    message: 'Too many requests wait here, or no media comes. Try again.',
    retryAfter: 1,
  });
}
