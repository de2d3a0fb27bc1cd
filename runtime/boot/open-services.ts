import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../../config/schema.ts';
import { milliseconds } from '../../core/base/config-fields.ts';
import type { Log } from '../../core/base/log.ts';
import type { Blobs } from '../../core/ports/blobs.ts';
import type { Clock } from '../../core/ports/clock.ts';
import { diskIntake } from '../drivers/intake/intake.ts';
import type { Allowed } from '../drivers/outbound/openings.ts';
import { packer } from '../drivers/packer/packer.ts';
import { inProcessMedia } from '../media/broadcast/in-process.ts';
import { type FfmpegRunner, ffmpegRunner } from '../media/ffmpeg/runner.ts';
import { inspector } from '../media/mp4/inspect/inspector.ts';
import { NodePusher } from '../media/push/pusher.ts';
import { rtmpPush } from '../media/push/rtmp-push.ts';
import { srtPush } from '../media/push/srt/srt-push.ts';
import { DiskRecorder } from '../media/recording/recorder.ts';
import { pixelsPerCore } from '../media/renditions/plan.ts';
import { type NodeTranscoder, nodeTranscoder } from '../media/renditions/transcoder.ts';
import { ffmpegStills } from '../media/stills/stills.ts';
import { encoderOf } from '../media/transcode/command.ts';
import { ffmpegConverter } from '../media/transcode/converter.ts';
import { isSlowPreset } from '../media/transcode/memory.ts';
import type { DiskPlace } from './disk-watch.ts';
import type { ServiceFactories } from './services.ts';

/** The services of this node as the config has them. None is made before it is asked for. */
export function servicesOf(
  config: Config,
  context: ServiceContext,
): { services: ServiceFactories; closeFfmpeg(): void } {
  const { clock, log, blobs, places } = context;
  const { uploads } = places;
  const ffmpeg = ffmpegRunner({ clock, log, ...config.ffmpeg, env: process.env });
  const own = { ...context, ffmpeg };
  // The media hands broadcasts to these, and plugins ask them.
  const recorder = once(() => recorderOf(config, context));
  const pusher = once(() => pusherOf(config, own));
  const transcoder = once(() => transcoderOf(config, own));
  const services: ServiceFactories = {
    recorder,
    pusher,
    transcoder,
    intake: () => diskIntake({ clock, ...uploads, store: places.blobs?.folder }),
    inspector: () => inspector({ clock }),
    packer: () => packer({ clock, blobs, folder: join(config.dataDir, 'packing'), reserve: uploads.reserve }),
    converter() {
      const { running, threads = Math.ceil(availableParallelism() / 2) } = config.conversion;
      return ffmpegConverter({
        ...{ clock, runner: ffmpeg, blobs, running, threads, memory: conversionMemory(config, threads) },
        h264: encoderOf(config.renditions),
      });
    },
    stills: () =>
      ffmpegStills({
        ...{ clock, log, runner: ffmpeg },
        running: config.stills.running,
        memory: bytes(config.stills.memory),
        deadline: milliseconds(config.stills.deadline),
      }),
    media: ({ pluginMedia: plugins, rtmpApps }) =>
      inProcessMedia({
        ...{ clock, log, recorder: recorder(), pusher: pusher(), transcoder: transcoder() },
        rtmp: {
          ...config.rtmp,
          apps: rtmpApps,
          connections: Math.min(config.rtmp.connections, context.rtmpConnections ?? Number.POSITIVE_INFINITY),
          publishTimeout: milliseconds(config.rtmp.publishTimeout),
          idleTimeout: milliseconds(config.rtmp.idleTimeout),
          messageBytes: bytes(config.rtmp.messageSize),
        },
        ...{ plugins, tls: config.tls },
        hls: {
          partTarget: milliseconds(config.hls.part) / 1000,
          window: milliseconds(config.hls.window) / 1000,
          waiterLimit: config.hls.waitingRequests,
          memory: config.hls.memory === undefined ? machineMemory() / 2 : bytes(config.hls.memory),
        },
      }),
  };
  return { services, closeFfmpeg: () => ffmpeg.close() };
}

export interface ServiceContext {
  readonly clock: Clock;
  readonly log: Log;
  readonly blobs: Blobs;
  /** Which addresses pushes may reach beside public ones. */
  readonly allow: Allowed;
  /** Folders where this node writes. */
  readonly places: { readonly uploads: DiskPlace; readonly blobs?: DiskPlace };
  /** Most RTMP connections that the descriptors of this process are enough for. */
  readonly rtmpConnections?: number;
}

interface FfmpegContext extends ServiceContext {
  readonly ffmpeg: FfmpegRunner;
}

function recorderOf({ dataDir, recording }: Config, { clock, log, blobs }: ServiceContext) {
  return new DiskRecorder({
    ...{ clock, log, blobs },
    folder: join(dataDir, 'recordings'),
    settings: {
      queue: bytes(recording.queue),
      queuePerFile: bytes(recording.queuePerTake),
      sync: milliseconds(recording.sync),
      reserve: bytes(recording.reserve),
      uploads: recording.uploads,
    },
  });
}

function pusherOf(config: Config, { clock, log, allow, ffmpeg }: FfmpegContext): NodePusher {
  const { push } = config;
  const rtmp = rtmpPush({ clock, log, allow });
  return new NodePusher({
    ...{ clock, log, random: Math.random },
    open: { rtmp, rtmps: rtmp, srt: srtPush({ clock, log, allow, runner: ffmpeg }) },
    settings: {
      queue: bytes(push.queue),
      memory: push.memory === undefined ? machineMemory() / 8 : bytes(push.memory),
      batch: milliseconds(push.batch),
      stall: milliseconds(push.stall),
      retryFirst: milliseconds(push.retryFirst),
      retryMost: milliseconds(push.retryMost),
      targets: push.targets,
      processes: config.ffmpeg.processes,
    },
  });
}

function transcoderOf({ renditions, ffmpeg }: Config, context: FfmpegContext): NodeTranscoder {
  const { clock, log, ffmpeg: runner } = context;
  const { encoder, device, capacity, threads, niceness } = renditions;
  const ownPreset = encoder === 'libx264' ? 'veryfast' : undefined;
  return nodeTranscoder({
    ...{ clock, log, runner, random: Math.random, processes: ffmpeg.processes },
    settings: {
      ...{ encoder, preset: renditions.preset ?? ownPreset, device, threads, niceness },
      stall: milliseconds(renditions.stall),
      behind: milliseconds(renditions.behind),
      patience: milliseconds(renditions.patience),
      retryMost: milliseconds(renditions.retryMost),
    },
    capacity: capacity === undefined ? availableParallelism() * pixelsPerCore : capacity * 1_000_000,
  });
}

/** Bytes of all conversions together: enough for one film in 4K with these threads, where the machine has so much. */
function conversionMemory({ conversion, renditions }: Config, threads: number): number {
  if (conversion.memory !== undefined) return bytes(conversion.memory);
  const forSpeed = isSlowPreset(encoderOf(renditions)) ? 1400 : 0;
  const wanted = bytes(Math.max(1400, 600 + 400 * threads) + forSpeed);
  return Math.max(bytes(512), Math.min(machineMemory() / 2, wanted));
}

/** Bytes this process could have at most: of the machine, or of the container it runs in. */
function machineMemory(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
}

function bytes(mebibytes: number): number {
  return mebibytes * 1_048_576;
}

function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
