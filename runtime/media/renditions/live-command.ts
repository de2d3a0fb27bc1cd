import type { FfmpegCommand, FfmpegOptions } from '../ffmpeg/command.ts';
import { type H264Settings, h264Options, thinning } from '../ffmpeg/h264.ts';
import type { LadderRun } from './ladder.ts';
import { maxPicture, type Plan, type PlannedRendition, renditionRate } from './plan.ts';

export interface EncodingSettings extends H264Settings {
  /** Where the hardware is, for encoders that need to know: `/dev/dri/renderD128`. */
  readonly device: string | undefined;
  readonly threads: number;
}

/**
 * All renditions of one run by one process: decoded once, then scaled and encoded for each. Media comes in on the timeline of the
 * playlist and pictures leave on it (`copyts`), one fragment for each as soon as it is encoded, track k + 1 for rendition k.
 * Nothing is looked for in the input before it is decoded: what is needed stands in the init segment.
 */
export function liveCommand(
  { video, from }: Pick<LadderRun, 'video' | 'from'>,
  { plan, settings }: { plan: Plan; settings: EncodingSettings },
): FfmpegCommand {
  const { renditions, decoderThreads } = plan;
  const { threads, encoder, device } = settings;
  const encoders = renditions.map(({ profile }, stream) => ({
    ...h264Options(
      { profile, frameRate: renditionRate(profile, video.frameRate), isLive: true, stream },
      settings,
    ),
    [`threads:v:${stream}`]: threads,
  }));
  return {
    input: {
      format: 'mp4',
      options: {
        ...(encoder.endsWith('_vaapi') && { vaapi_device: device ?? firstDevice }),
        copyts: true,
        // A stream may hold other parameter sets than its header.
        max_pixels: maxPicture,
        threads: decoderThreads,
        // Otherwise it waits for a second of media.
        analyzeduration: 0,
        fpsprobesize: 0,
      },
    },
    filters: graphOf(renditions, { from, format: pixelFormat(encoder) }),
    output: {
      target: 'pipe:1',
      format: 'mp4',
      protocol: 'pipe',
      options: {
        filter_complex_threads: threads,
        map: renditions.map((_, index) => `[v${index}]`),
        map_metadata: -1,
        fps_mode: 'passthrough',
        enc_time_base: '1:90000',
        ...Object.assign({}, ...(encoders as FfmpegOptions[])),
        flags: '+global_header',
        video_track_timescale: 90_000,
        movflags: '+empty_moov+default_base_moof+frag_discont+skip_trailer',
        // µs: one for each picture. `frag_every_frame` (seen with 5.1) gives pictures the time of the next where tracks have
        // different rates.
        frag_duration: 1,
        avoid_negative_ts: 'disabled',
        flush_packets: 1,
      },
    },
  };
}

/** Of the first graphics processor, on Linux. */
const firstDevice = '/dev/dri/renderD128';

function graphOf(
  renditions: readonly PlannedRendition[],
  { from, format }: { from: number | undefined; format: string },
): string {
  const ends = renditions.map((_, index) => `[s${index}]`);
  // Written out: of a small number JavaScript would make 1e-7.
  const trim = from === undefined ? '' : `trim=start=${from.toFixed(6)},`;
  const chains = renditions.map(({ width, height, rate }, index) => {
    const thinned = rate === undefined ? '' : `${thinning(rate, { fromKeyFrames: true })},`;
    return `${ends[index]}${thinned}scale=${width}:${height},${format}[v${index}]`;
  });
  return [`[0:v:0]${trim}split=${renditions.length}${ends.join('')}`, ...chains].join(';');
}

/** Pictures as the encoder takes them: 8 bits and 4:2:0, which every browser plays, in the memory of the hardware where it wants that. */
function pixelFormat(encoder: string): string {
  if (encoder.endsWith('_vaapi')) return 'format=nv12,hwupload';
  return encoder.endsWith('_qsv') ? 'format=nv12' : 'format=yuv420p';
}
