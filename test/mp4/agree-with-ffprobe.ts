import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import type { VideoSpec } from '../../core/ports/recorder.ts';

const run = promisify(execFile);

/** Holds `videoSpec` of a file against what ffprobe says of it, field by field. */
export async function agreeWithFfprobe(spec: VideoSpec, path: string): Promise<void> {
  const show = ['-show_entries', 'format:stream', '-of', 'json'];
  const { stdout } = await run('ffprobe', ['-v', 'error', ...show, path]);
  const probed = JSON.parse(stdout) as Probed;
  const streams = probed.streams.filter(
    ({ codec_name, disposition }) => ['h264', 'aac'].includes(codec_name) && disposition.attached_pic === 0,
  );
  expect(spec.tracks.map(({ codec }) => codec)).toEqual(streams.map(({ codec_name }) => codec_name));
  expect(probed.format.format_name.split(',')).toContain(spec.format);
  // It believes the header of the film, which counts in milliseconds and rounds up each edit.
  expect(Math.abs(spec.duration - Number(probed.format.duration))).toBeLessThanOrEqual(0.002);
  const { size } = probed.format;
  // With an index in front it knows no more of these than the first fragment.
  const isIndexed = path.includes('sidx');
  const counted = isIndexed ? await Promise.all(streams.map((one) => measurePackets(path, one))) : [];
  expect(Math.abs(spec.bitrate - (Number(size) * 8) / spec.duration)).toBeLessThanOrEqual(1);
  spec.tracks.forEach((track, index) => {
    const stream = streams[index];
    expect(track.type).toBe(stream.codec_type);
    expect(track.duration).toBeCloseTo(Number(stream.duration), 4);
    // It cuts what is less than one.
    const bitrate = counted[index]?.bitrate ?? Number(stream.bit_rate);
    expect(Math.abs(track.bitrate - bitrate)).toBeLessThanOrEqual(1);
    if (track.type === 'audio') {
      const { channels, sampleRate } = track;
      expect({ channels, sampleRate }).toEqual({
        channels: stream.channels,
        sampleRate: Number(stream.sample_rate),
      });
      return;
    }
    const { width, height, pixelFormat, fps } = track;
    expect({ width, height, pixelFormat }).toEqual({
      width: stream.width,
      height: stream.height,
      pixelFormat: stream.pix_fmt,
    });
    const [frames, seconds] = stream.avg_frame_rate.split('/').map(Number);
    expect(fps).toBeCloseTo(counted[index]?.fps ?? frames / seconds, 4);
  });
}

/** What all packets of a stream come to. */
async function measurePackets(
  path: string,
  { index, duration }: Probed['streams'][number],
): Promise<{ bitrate: number; fps: number }> {
  const show = ['-show_entries', 'packet=size', '-of', 'csv=p=0', '-select_streams', `${index}`];
  const { stdout } = await run('ffprobe', ['-v', 'error', ...show, path]);
  const sizes = stdout.split('\n').flatMap((line) => (line === '' ? [] : [Number.parseInt(line, 10)]));
  const bits = sizes.reduce((sum, size) => sum + size * 8, 0);
  return { bitrate: bits / Number(duration), fps: sizes.length / Number(duration) };
}

interface Probed {
  readonly format: { readonly duration: string; readonly size: string; readonly format_name: string };
  readonly streams: readonly {
    readonly index: number;
    readonly codec_name: string;
    readonly codec_type: string;
    readonly duration: string;
    readonly bit_rate: string;
    readonly channels?: number;
    readonly sample_rate?: string;
    readonly width?: number;
    readonly height?: number;
    readonly pix_fmt?: string;
    readonly avg_frame_rate: string;
    readonly disposition: { readonly attached_pic: number };
  }[];
}
