import type { TranscodeReason, TranscodeTrouble } from '../../../core/ports/transcoder.ts';
import { causeOf } from '../ffmpeg/end-cause.ts';
import type { FfmpegEnd } from '../ffmpeg/process.ts';
import { type FfmpegRefusal, refusalMessages } from '../ffmpeg/runner.ts';
import type { Plan } from './plan.ts';

/** Why ffmpeg was not started. */
export function refusalTrouble({ reason }: FfmpegRefusal): TranscodeTrouble {
  const message = refusalMessages[reason];
  if (reason === 'full') return trouble('processes', `${message} They start when others end.`);
  return trouble(reason === 'missing' ? reason : 'broken', message);
}

/** What ended ffmpeg before its input was over. */
export function endTrouble(end: FfmpegEnd, { encoder }: { encoder: string }): TranscodeTrouble {
  const cause = causeOf(end);
  if (cause === 'decoder') return trouble('source', 'The ffmpeg of this server cannot decode its video.');
  if (cause === 'encoder' || cause === 'output')
    return trouble(
      'encoder',
      `The ffmpeg of this server cannot encode with ${encoder} (renditions.encoder).`,
    );
  return trouble('broken', 'ffmpeg ended in the middle of the broadcast.');
}

/** Says nothing about what is free now, which changes all the time. */
export function capacityTrouble(
  { renditions, pixelRate }: Pick<Plan, 'renditions' | 'pixelRate'>,
  limit: number,
): TranscodeTrouble {
  const [own, all] = [pixelRate, limit].map(megapixels);
  const each = renditions.map((one) => `${one.profile.name} ${megapixels(one.pixelRate)}`);
  const take = `They take ${own} megapixels a second (${each.join(', ')})`;
  return trouble(
    'capacity',
    pixelRate > limit
      ? `${take}; this server encodes ${all} (renditions.capacity). ${wayOut({ renditions, pixelRate }, limit)}`
      : `${take}, and fewer of the ${all} that this server encodes (renditions.capacity) are free. They start when others end.`,
  );
}

/** They are made all together or not at all: which are too many when those that come first in the field are kept. */
function wayOut({ renditions, pixelRate }: Pick<Plan, 'renditions' | 'pixelRate'>, limit: number): string {
  // What the source and the process take all the same.
  let used = pixelRate - renditions.reduce((sum, one) => sum + one.pixelRate, 0);
  const spare = renditions.filter(({ pixelRate }) => {
    const isTooMuch = used + pixelRate > limit;
    if (!isTooMuch) used += pixelRate;
    return isTooMuch;
  });
  if (spare.length === renditions.length) return 'None of them fits even alone.';
  return `Without ${spare.map(({ profile }) => profile.name).join(', ')} the others fit.`;
}

/** `most`: how many may make renditions. */
export function processesTrouble(most: number): TranscodeTrouble {
  return trouble(
    'processes',
    `${most} ffmpeg processes make renditions already, three quarters of ffmpeg.processes. They start when others end.`,
  );
}

export function stallTrouble(ms: number): TranscodeTrouble {
  return trouble('stalled', `ffmpeg gave no picture for ${ms / 1000} s.`);
}

export const unreadable = trouble('broken', 'What ffmpeg wrote could not be read.');
export const noMemory = trouble('memory', 'Live media uses all of its memory (hls.memory).');
export const tooSlow = trouble('slow', 'This server cannot encode them in real time.');
export const unexpected = trouble('broken', 'This server could not make them; its log says why.');

function trouble(reason: TranscodeReason, message: string): TranscodeTrouble {
  return { reason, message };
}

function megapixels(pixelRate: number): string {
  return (pixelRate / 1e6).toFixed(1).replace(/\.0$/, '');
}
