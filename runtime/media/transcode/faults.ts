import { Fault } from '../../../core/base/fault.ts';
import type { FfmpegEnd } from '../ffmpeg/process.ts';
import type { FfmpegRefusal } from '../ffmpeg/runner.ts';

/** It is no use to try the same film again. `why` follows "the film is not converted: ". */
export function refused(why: string): Fault {
  return new Fault('conversion.refused', {
    status: 422,
    message: `The film is not converted: ${why}.`,
    retry: false,
  });
}

/** It says nothing of the film. `retryAfter`: seconds. */
export function unavailable(message: string, retryAfter: number): Fault {
  return new Fault('conversion.unavailable', { status: 503, message, retryAfter });
}

export const closed = unavailable('The server is about to end.', 5);

export function notStarted(reason: FfmpegRefusal['reason']): Fault {
  if (reason === 'missing') {
    const message =
      'ffmpeg is not installed on the server, or not on its PATH (ffmpeg.path). It is looked for again each minute.';
    return unavailable(message, 60);
  }
  if (reason === 'full') return unavailable('As many processes of ffmpeg run as may (ffmpeg.processes).', 15);
  return reason === 'closed' ? closed : unavailable('ffmpeg could not be started.', 15);
}

/** Why a process that ended by itself did not make a film of what it read. Its own words are not repeated. */
export function endedBy({ code, signal, errors }: FfmpegEnd): Fault {
  // Whoever kills it from outside, mostly the system for want of memory, says nothing of the film.
  if (signal === 'SIGKILL' || signal === 'SIGTERM') return unavailable('ffmpeg was killed.', 30);
  if (signal !== undefined) return refused('ffmpeg broke down over it');
  const known = signs.find(([sign]) => sign.test(errors));
  if (known?.[1] === 'encoder')
    return unavailable('ffmpeg has not the encoder that it takes, or cannot use it here.', 60);
  return refused(known?.[1] ?? `ffmpeg cannot read it (exit code ${code})`);
}

const signs: readonly (readonly [sign: RegExp, why: string])[] = [
  [/exceeds specified max pixel count|Picture size \d+x\d+ is invalid/, 'its pictures are too large'],
  [/Could not find tag for codec/, 'it has a codec that mp4 does not know'],
  [/Unknown encoder|Error while opening encoder/, 'encoder'],
  [/matches no streams/, 'it has no video'],
  [/not on whitelist/, 'it has a codec that is not read'],
  [/[Dd]ecoder .*not found|Decoding requested, but no decoder/, 'ffmpeg has no decoder for it'],
  [/Cannot allocate memory/, 'it takes more memory than one film may have'],
];
