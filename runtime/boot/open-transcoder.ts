import { availableParallelism } from 'node:os';
import { milliseconds } from '../../core/base/duration.ts';
import type { Log } from '../../core/base/log.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { FfmpegRunner } from '../media/ffmpeg/runner.ts';
import { transcodingLimits } from '../media/renditions/limits.ts';
import { type NodeTranscoder, nodeTranscoder } from '../media/renditions/transcoder.ts';

/** The section `renditions` of the config. */
interface RenditionsConfig {
  readonly encoder: string;
  readonly preset?: string;
  readonly device?: string;
  readonly capacity?: number;
  readonly threads: number;
  readonly niceness: number;
  readonly stall: string;
  readonly behind: string;
  readonly patience: string;
  readonly retryMost: string;
}

/** The transcoder of this node as its config has it. Nothing begins before a broadcast wants renditions. */
export function openTranscoder(
  {
    renditions,
    ffmpeg: { processes },
  }: { renditions: RenditionsConfig; ffmpeg: { readonly processes: number } },
  options: { clock: Clock; log: Log; ffmpeg: FfmpegRunner },
): NodeTranscoder {
  const { clock, log, ffmpeg } = options;
  const { encoder, device, capacity, threads, niceness } = renditions;
  const ownPreset = encoder === 'libx264' ? 'veryfast' : undefined;
  return nodeTranscoder({
    ...{ clock, log, runner: ffmpeg, random: Math.random, processes },
    settings: { encoder, preset: renditions.preset ?? ownPreset, device, threads, niceness },
    capacity:
      capacity === undefined
        ? availableParallelism() * transcodingLimits.pixelsPerCore
        : capacity * 1_000_000,
    limits: {
      stall: milliseconds(renditions.stall),
      behind: milliseconds(renditions.behind),
      patience: milliseconds(renditions.patience),
      retryMost: milliseconds(renditions.retryMost),
    },
  });
}
