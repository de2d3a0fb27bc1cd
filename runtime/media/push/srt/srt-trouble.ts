import type { PushReason, PushTrouble } from '../../../../core/ports/pusher.ts';
import type { FfmpegEnd } from '../../ffmpeg/process.ts';
import { type FfmpegRefusal, refusalMessages } from '../../ffmpeg/runner.ts';
import { trouble } from '../troubles.ts';

/** Why ffmpeg, which SRT needs, was not started. */
export function refusalTrouble(reason: FfmpegRefusal['reason']): PushTrouble {
  const reasons: Partial<Record<string, PushReason>> = { full: 'full', order: 'url' };
  return { reason: reasons[reason] ?? 'unsupported', message: refusalMessages[reason] };
}

/**
 * What ended ffmpeg, from what it and libsrt said (libsrt 1.4 and 1.5: core.cpp, handshake.cpp; ffmpeg 4.4 to 8: libsrt.c).
 * Known signs become words of ours; nothing of the text is handed on, for it repeats the address, and what others wrote.
 */
export function endTrouble(end: FfmpegEnd, { isAccepted }: { isAccepted: boolean }): PushTrouble {
  const { errors, signal } = end;
  if (signal !== undefined) return trouble('closed', 'the process of ffmpeg that sent it was ended');
  if (isAccepted) return trouble('closed', 'the server closed the connection, or is gone');
  if (/incorrect passphrase|bad ?secret|wrong password/i.test(errors)) {
    return trouble('rejected', 'the server refused the passphrase');
  }
  if (/password required|unsecure|encryption/i.test(errors)) {
    return trouble('rejected', 'the server wants a passphrase and there is none, or the other way round');
  }
  if (/reject/i.test(errors)) {
    return trouble('rejected', 'the server refused the connection: see whether the streamid is right');
  }
  if (/protocol not found|unknown protocol/i.test(errors)) {
    return trouble('unsupported', 'the ffmpeg of this server cannot speak SRT');
  }
  if (/network is unreachable|no route to host|permission denied|operation not permitted/i.test(errors)) {
    return trouble('connect', 'the server cannot be reached from here');
  }
  if (/\bsrt\b|connection|timed? ?out|input\/output error/i.test(errors)) {
    return trouble('connect', 'the server did not answer');
  }
  return trouble('protocol', 'the ffmpeg of this server could not make a stream for SRT of this broadcast');
}
