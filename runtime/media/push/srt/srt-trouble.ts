import type { PushTrouble } from '../../../../core/ports/pusher.ts';
import type { FfmpegEnd } from '../../ffmpeg/process.ts';
import type { FfmpegRefusal } from '../../ffmpeg/runner.ts';
import { trouble, troubles } from '../troubles.ts';

/** Why ffmpeg was not started, for people. */
export function refusalTrouble({ reason }: FfmpegRefusal): PushTrouble {
  if (reason === 'missing') return noFfmpeg;
  if (reason === 'full') return troubles.processes;
  if (reason === 'order')
    return trouble('url', 'the streamid or passphrase of the URL cannot be handed to ffmpeg');
  if (reason === 'unsure')
    return trouble(
      'unsupported',
      'this server could not find out whether its ffmpeg keeps secrets of the URL',
    );
  return trouble('unsupported', 'this server could not start ffmpeg, which SRT takes');
}

export const noFfmpeg = trouble('unsupported', 'this server has no ffmpeg, which SRT takes');

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
