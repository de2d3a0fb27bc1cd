import { Fault } from '../../../core/base/fault.ts';
import { causeOf, type EndCause } from '../ffmpeg/end-cause.ts';
import type { FfmpegEnd } from '../ffmpeg/process.ts';
import { type FfmpegRefusal, refusalMessages } from '../ffmpeg/runner.ts';

/** Trying the same film again is useless. `why` follows "the film is not converted: ". */
export function refused(why: string): Fault {
  return new Fault('conversion.refused', {
    status: 422,
    message: `The film is not converted: ${why}.`,
    retry: false,
  });
}

/** Not the fault of the film. `retryAfter`: seconds. */
export function unavailable(message: string, retryAfter: number): Fault {
  return new Fault('conversion.unavailable', { status: 503, message, retryAfter });
}

export const closed = unavailable('The server is stopping.', 5);

export function notStarted(reason: FfmpegRefusal['reason']): Fault {
  return unavailable(refusalMessages[reason], reason === 'missing' ? 60 : 15);
}

/** Why a process that ended by itself made no film of what it read. */
export function endedBy(end: FfmpegEnd): Fault {
  const cause = causeOf(end);
  if (cause === 'killed') return unavailable('ffmpeg was killed.', 30);
  if (cause === 'encoder') return unavailable('ffmpeg cannot use the encoder (renditions.encoder).', 60);
  return refused(reasons[cause] ?? `ffmpeg cannot read it (exit code ${end.code})`);
}

const reasons: Partial<Record<EndCause, string>> = {
  crashed: 'ffmpeg crashed while reading it',
  too_large: 'its pictures are too large',
  container: 'it has a codec that mp4 does not know',
  no_video: 'it has no video',
  codec: 'it has a codec that is not read',
  decoder: 'ffmpeg has no decoder for it',
  memory: 'it takes more memory than one film may have (conversion.memory)',
};
