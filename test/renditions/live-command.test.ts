import { expect, it } from 'vitest';
import type { RenditionProfile } from '../../core/ports/transcoder.ts';
import { argumentsOf } from '../../runtime/media/ffmpeg/command.ts';
import { liveCommand } from '../../runtime/media/renditions/live-command.ts';
import { type Plan, planOf } from '../../runtime/media/renditions/plan.ts';
import { profile240, profile480, video720 } from '../kit/scripted-ladder.ts';

const settings = { encoder: 'libx264', preset: 'veryfast', device: undefined, threads: 2 };

function planned(profiles: readonly RenditionProfile[], video = video720, counted?: number): Plan {
  const plan = planOf(video, { profiles, counted });
  if ('reason' in plan) throw new Error(plan.message);
  return plan;
}

function told(options: {
  profiles: readonly RenditionProfile[];
  from?: number;
  encoder?: string;
  device?: string;
}): string[] {
  const { profiles, from, encoder = 'libx264', device } = options;
  const own = { ...settings, encoder, device };
  const command = liveCommand({ video: video720, from }, { plan: planned(profiles), settings: own });
  return [...argumentsOf(command, { hides: true })];
}

const sizes = (profile: Partial<RenditionProfile>, width: number, height: number) =>
  planned([{ ...profile480, ...profile }], { ...video720, width, height }).renditions.map(
    (one) => `${one.width}x${one.height}`,
  )[0];

it('decodes once, and scales and encodes for each rendition', () => {
  const given = told({ profiles: [profile480, profile240], from: 3.5 });
  const graph =
    '[0:v:0]trim=start=3.500000,split=2[s0][s1];[s0]scale=854:480,format=yuv420p[v0];[s1]scale=426:240,format=yuv420p[v1]';
  expect(given).toEqual([
    ...['-hide_banner', '-nostdin', '-nostats', '-loglevel', 'error', '-max_alloc', '268435456'],
    ...[
      '-protocol_whitelist',
      'pipe',
      '-copyts',
      '-max_pixels',
      '35651584',
      '-threads',
      '1',
      '-analyzeduration',
      '0',
    ],
    ...['-fpsprobesize', '0', '-f', 'mp4', '-i', 'pipe:0', '-filter_complex', graph],
    ...['-protocol_whitelist', 'pipe', '-filter_complex_threads', '2', '-map', '[v0]', '-map', '[v1]'],
    ...['-map_metadata', '-1', '-fps_mode', 'passthrough', '-enc_time_base', '1:90000'],
    ...encoded(0, 1_000_000),
    ...encoded(1, 400_000),
    ...['-flags', '+global_header', '-video_track_timescale', '90000', '-movflags'],
    ...['+empty_moov+default_base_moof+frag_discont+skip_trailer', '-frag_duration', '1'],
    ...['-avoid_negative_ts', 'disabled', '-flush_packets', '1', '-f', 'mp4', 'pipe:1'],
  ]);
});

it('never gives an encoder a bit rate that it does not open with', () => {
  const rates = (bitrate: number) => {
    const given = told({ profiles: [{ ...profile480, bitrate }] });
    return ['-b:v:0', '-maxrate:v:0', '-bufsize:v:0'].map((name) => given[given.indexOf(name) + 1]);
  };
  // libx264 counts in thousands; its buffer is a number of 32 bits.
  expect(rates(400)).toEqual(['1000', '1000', '1000']);
  expect(rates(1e21)).toEqual(['1000000000', '1000000000', '1000000000']);
  expect(rates(1_000_001)).toEqual(['1000001', '1000001', '1000001']);
});

function encoded(stream: number, bitrate: number): string[] {
  const of = {
    ...{ c: 'libx264', preset: 'veryfast', sc_threshold: '0', tune: 'zerolatency' },
    ...{ 'x264-params': 'force-cfr=0', bf: '0', b: bitrate, maxrate: bitrate, bufsize: bitrate },
    ...{ g: '1000000', 'forced-idr': '1', force_key_frames: 'source', threads: '2' },
  };
  return Object.entries(of).flatMap(([name, value]) => [`-${name}:v:${stream}`, `${value}`]);
}

it('leaves out pictures beyond the rate of a profile, and never a key frame', () => {
  const given = told({ profiles: [{ ...profile240, fps: 30_000, fpsDen: 1001 }] });
  const graph = given[given.indexOf('-filter_complex') + 1];
  expect(graph).toContain(
    "[s0]select='if(key+isnan(prev_selected_t),st(0,t)*0+1,gt(floor((t-ld(0))*30000/1001+0.1),",
  );
});

it.each([
  [{ fps: 0 }, 30],
  [{ fps: 15 }, 15],
  // No picture is doubled.
  [{ fps: 60 }, 30],
  // As few as there may be.
  [{ fps: 1 }, 5],
  [{ fps: 30_000, fpsDen: 1001, gop: '1.5' }, 45],
])('has a key frame after so many seconds as `gop` says: %j', (profile, pictures) => {
  const given = told({ profiles: [{ ...profile240, gop: '1', ...profile }] });
  expect(given[given.indexOf('-g:v:0') + 1]).toBe(`${pictures}`);
});

it('gives hardware the pictures as it wants them', () => {
  const graphOf = (encoder: string) => {
    const given = told({ profiles: [profile240], encoder });
    return given[given.indexOf('-filter_complex') + 1];
  };
  expect(graphOf('h264_vaapi')).toMatch(/scale=426:240,format=nv12,hwupload\[v0\]$/);
  expect(graphOf('h264_qsv')).toMatch(/format=nv12\[v0\]$/);
  expect(graphOf('h264_nvenc')).toMatch(/format=yuv420p\[v0\]$/);
  const device = (given: string[]) => given[given.indexOf('-vaapi_device') + 1];
  expect(device(told({ profiles: [profile240], encoder: 'h264_vaapi' }))).toBe('/dev/dri/renderD128');
  expect(device(told({ profiles: [profile240], encoder: 'h264_vaapi', device: '/dev/dri/x' }))).toBe(
    '/dev/dri/x',
  );
});

it.each([
  [{}, 1280, 720, '854x480'],
  [{}, 1920, 1080, '854x480'],
  [{ width: 426, height: 240 }, 1280, 720, '426x240'],
  // Upright: the height decides.
  [{}, 1080, 1920, '270x480'],
  // Never larger than it came.
  [{}, 640, 360, '640x360'],
  [{}, 641, 361, '640x360'],
  [{ width: 100_000, height: 100_000 }, 1280, 720, '1280x720'],
  // Of a shape that leaves nothing there is something.
  [{}, 8000, 10, '854x2'],
  [{ width: 129, height: 129 }, 1000, 1000, '128x128'],
])('fits the picture into %j: %i × %i becomes %s', (profile, width, height, expected) => {
  expect(sizes(profile, width, height)).toBe(expected);
});

it('counts what is encoded and, a quarter as much, decoded by the pictures that are, and the process', () => {
  const rate = (fps: number, counted?: number) =>
    planned([{ ...profile480, fps }], video720, counted).pixelRate;
  const taken = (encoded: number, decoded: number) =>
    854 * 480 * encoded + (1280 * 720 * decoded) / 4 + 1_000_000;
  expect(rate(0)).toBe(taken(30, 30));
  expect(rate(15)).toBe(taken(15, 30));
  expect(rate(60)).toBe(taken(30, 30));
  expect(rate(1), 'as few as there may be').toBe(taken(5, 30));
  expect(rate(0, 60)).toBe(taken(60, 60));
  const silent = { ...video720, frameRate: undefined };
  expect(planned([profile480], silent).pixelRate).toBe(taken(30, 30));
  expect(planned([profile480], silent, 10).pixelRate).toBe(taken(10, 10));
});

it('gives the decoder another thread for what one does not do in time', () => {
  const threads = (width: number, height: number, frameRate: number) =>
    planned([profile480], { ...video720, width, height, frameRate }).decoderThreads;
  expect(threads(1280, 720, 30)).toBe(1);
  expect(threads(1920, 1080, 60)).toBe(1);
  expect(threads(3840, 2160, 30)).toBe(2);
  expect(threads(3840, 2160, 60)).toBe(4);
  expect(threads(8192, 4320, 60)).toBe(4);
});

it.each([
  ['as asked for where the picture is as large', 1280, 720, 3_000_000, 3_000_000],
  ['or smaller', 640, 360, 800_000, 800_000],
  ['or as large in one side', 1280, 1080, 3_000_000, 3_000_000],
  ['by the pixels where the source is smaller', 1920, 1080, 3_000_000, 1_333_333],
  ['not below a floor', 12_800, 7200, 3_000_000, 100_000],
  ['and never more than asked for', 1920, 1080, 50_000, 50_000],
])('has the bitrate %s: %i × %i', (_name, width, height, bitrate, expected) => {
  const [one] = planned([{ ...profile480, width, height, bitrate }]).renditions;
  expect(one.profile.bitrate).toBe(expected);
});
