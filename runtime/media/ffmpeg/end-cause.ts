import type { FfmpegEnd } from './process.ts';

/**
 * Why a process ended before its work was done. `killed`: from outside, mostly by the system for want of memory. `encoder`: it lacks
 * the encoder or cannot open it. `output`: other signs that it cannot encode. `decoder`: it cannot decode the input. `codec`: the
 * input has a codec that is not allowed. `container`: mp4 cannot hold the codec.
 */
export type EndCause =
  | 'killed'
  | 'crashed'
  | 'encoder'
  | 'output'
  | 'decoder'
  | 'codec'
  | 'container'
  | 'no_video'
  | 'too_large'
  | 'memory'
  | 'unknown';

/**
 * Reads it from the words of ffmpeg 5.1 to 8 (ffmpeg_dec.c, ffmpeg_enc.c, ffmpeg_hw.c). Those words are shown to nobody, as they
 * repeat what others wrote into the input.
 */
export function causeOf({ signal, errors }: FfmpegEnd): EndCause {
  if (signal === 'SIGKILL' || signal === 'SIGTERM') return 'killed';
  if (signal !== undefined) return 'crashed';
  return signs.find(([sign]) => sign.test(errors))?.[1] ?? 'unknown';
}

const memorySign = /Cannot allocate memory|malloc of size \d+ failed|get_buffer\(\) failed/;

/** It got less memory than it needed. A decoder then leaves pictures out, and the process ends as if all was well. */
export function wasShort({ errors }: Pick<FfmpegEnd, 'errors'>): boolean {
  return memorySign.test(errors);
}

const signs: readonly (readonly [sign: RegExp, cause: EndCause])[] = [
  [/exceeds specified max pixel count|Picture size \d+x\d+ is invalid/, 'too_large'],
  [memorySign, 'memory'],
  [/Could not find tag for codec/, 'container'],
  [/decoder[^\n]*not found|no decoder|unknown decoder|unsupported codec/i, 'decoder'],
  [/unknown encoder|while opening encoder/i, 'encoder'],
  [/matches no streams/, 'no_video'],
  [/not on whitelist/, 'codec'],
  [/error (initiali[sz]ing|opening) (the )?(output stream|encoder)/i, 'output'],
  [/device creation failed|no device available|cannot load lib|failed to set value[^\n]*device/i, 'output'],
];
