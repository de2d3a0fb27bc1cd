import type { Cidr } from '../../core/base/cidr.ts';
import { milliseconds } from '../../core/base/duration.ts';
import type { Log } from '../../core/base/log.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { FfmpegRunner } from '../media/ffmpeg/runner.ts';
import { type NodePusher, nodePusher } from '../media/push/pusher.ts';
import { rtmpPush } from '../media/push/rtmp-push.ts';
import { srtPush } from '../media/push/srt-push.ts';

export interface OpenPusherOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Addresses that are open although they are not public. */
  readonly allow: readonly Cidr[];
  readonly ffmpeg: FfmpegRunner;
  /** Bytes that this process could have at most. */
  readonly machineMemory: number;
}

/** The section `push` of the config. */
interface PushConfig {
  readonly queue: number;
  readonly memory?: number;
  readonly batch: string;
  readonly stall: string;
  readonly retryFirst: string;
  readonly retryMost: string;
  readonly targets: number;
}

/** The pusher of this node as its config has it. Nothing begins before something is to be pushed. */
export function openPusher(
  { push, ffmpeg: { processes } }: { push: PushConfig; ffmpeg: { processes: number } },
  options: OpenPusherOptions,
): NodePusher {
  const { clock, log, allow, ffmpeg, machineMemory } = options;
  const rtmp = rtmpPush({ clock, log, allow });
  return nodePusher({
    ...{ clock, log, random: Math.random },
    open: { rtmp, rtmps: rtmp, srt: srtPush({ clock, log, allow, runner: ffmpeg }) },
    limits: {
      queue: push.queue * 1_048_576,
      memory: push.memory === undefined ? machineMemory / 8 : push.memory * 1_048_576,
      batch: milliseconds(push.batch),
      stall: milliseconds(push.stall),
      retryFirst: milliseconds(push.retryFirst),
      retryMost: milliseconds(push.retryMost),
      targets: push.targets,
      processes,
    },
  });
}
