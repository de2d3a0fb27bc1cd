import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encode } from '../e2e/harness/encoders.ts';
import { SQUARES } from '../kit/frame-number.ts';
import { type Clip, readFlvFile } from '../kit/publisher/flv-file.ts';
import { enhancedClip } from '../publisher/enhanced-clip.ts';

export interface PaintedOptions {
  /** Pixels. Default 1280 × 720. */
  readonly width?: number;
  readonly height?: number;
  /** Pictures a second. Default 30. */
  readonly fps?: number;
  /** Default 60. Its pictures are `seconds × fps`, unless `filter` drops some. */
  readonly seconds?: number;
  /** `h265`: as Enhanced RTMP has it. Default `h264`. */
  readonly codec?: 'h264' | 'h265';
  /** Pictures from one key frame to the next. Default 60. */
  readonly gop?: number;
  /** B-frames in a row at most. Default 0. */
  readonly bFrames?: number;
  /** 440 Hz. Default true. */
  readonly hasSound?: boolean;
  /** What is done to the pictures when they have their numbers: `setpts`, `select`. */
  readonly filter?: string;
}

/**
 * A clip whose every picture shows its number, of any size and rhythm, and one steady tone. The number is that of
 * `readFrameNumber`, with the panel stretched to the shape of the picture.
 */
export async function paintedClip(options: PaintedOptions = {}): Promise<Clip> {
  const path = join(tmpdir(), `millrace-painted-${crypto.randomUUID()}${endingOf(options)}`);
  try {
    await paintFile(path, options);
    if (options.codec === 'h265') return enhancedClip(await Bun.file(path).bytes());
    return await readFlvFile(path);
  } finally {
    await rm(path, { force: true });
  }
}

/** The same as a file at `path`, for ffmpeg as the encoder: FLV, or mp4 for H.265. */
export async function paintFile(path: string, options: PaintedOptions = {}): Promise<void> {
  const { width = 1280, height = 720, fps = 30, seconds = 60, gop = 60, bFrames = 0, filter } = options;
  const picture = [`testsrc2=size=${width}x${height}:rate=${fps}`, ...paint(width, height)];
  if (filter !== undefined) picture.push(filter);
  await encode([
    ...['-f', 'lavfi', '-i', picture.join(',')],
    ...(options.hasSound === false ? [] : ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=48000']),
    ...['-t', String(seconds), '-fps_mode', 'passthrough', '-pix_fmt', 'yuv420p', '-g', String(gop)],
    // In the time base of 30 fps two pictures that come unevenly can coincide.
    ...['-enc_time_base:v', '1:1000'],
    ...(options.codec === 'h265'
      ? [
          ...['-c:v', 'libx265', '-preset', 'ultrafast', '-tag:v', 'hvc1', '-x265-params'],
          `log-level=error:keyint=${gop}:min-keyint=${gop}:scenecut=0:bframes=${bFrames}`,
        ]
      : [
          ...['-c:v', 'libx264', '-preset', 'ultrafast', '-bf', String(bFrames)],
          ...['-keyint_min', String(gop), '-sc_threshold', '0'],
        ]),
    ...['-b:v', '2500k', '-c:a', 'aac', '-b:a', '96k', path],
  ]);
}

const endingOf = ({ codec }: PaintedOptions) => (codec === 'h265' ? '.mp4' : '.flv');

/** The filters that paint what test/kit/clip/make-clip.ts paints. */
function paint(width: number, height: number): string[] {
  const { frameWidth, frameHeight, bits, size, pitch, left, top, margin } = SQUARES;
  const [wide, high] = [width / frameWidth, height / frameHeight];
  const round = (pixels: number) => Math.round(pixels);
  const box = (x: number, y: number, w: number, h: number, colour: string) =>
    `drawbox=x=${round(x * wide)}:y=${round(y * high)}:w=${round(w * wide)}:h=${round(h * high)}:color=${colour}:t=fill`;
  const panel = (bits - 1) * pitch + size + 2 * margin;
  return [
    box(left - margin, top - margin, panel, size + 2 * margin, '0x808080'),
    ...Array.from({ length: bits }, (_, bit) => {
      const square = (colour: string) => box(left + bit * pitch, top, size, size, colour);
      return `${square('black')},${square('white')}:enable='bitand(n\\,${1 << (bits - 1 - bit)})'`;
    }),
  ];
}
