import { Fault, hasCode } from '../../core/base/fault.ts';
import { idOrNone } from '../../core/base/secrets.ts';

export function streamNotFound(id: string): Fault {
  return new Fault('stream.not_found', { status: 404, message: `There is no stream ${idOrNone(id)}.` });
}

/** For a command to the actor of a stream that was there a moment ago: another request deleted it. */
export function deletedMeanwhile(id: string): (error: unknown) => never {
  return (error) => {
    throw hasCode(error, 'actor.not_found') ? streamNotFound(id) : error;
  };
}

export function sessionNotFound(id: string): Fault {
  return new Fault('session.not_found', { status: 404, message: `There is no session ${idOrNone(id)}.` });
}

export function tooManyStreams(most: number): Fault {
  return new Fault('stream.too_many', {
    status: 403,
    message: `This account has ${most} streams, the most it may have. Delete some first.`,
  });
}

/** There is no such playlist now, or no such part of it. */
export function notLive(): Fault {
  return new Fault('playback.not_live', {
    status: 404,
    message: 'Nothing is being broadcast here right now.',
    retryAfter: 1,
  });
}

export function tooManyWaiting(): Fault {
  return new Fault('playback.too_many_waiting', {
    status: 503,
    message: 'Too many requests wait for media. Try again.',
    retryAfter: 1,
  });
}
