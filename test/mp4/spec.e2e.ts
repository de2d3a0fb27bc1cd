/** `videoSpec` of files that ffmpeg makes, held field by field against what ffprobe says of them. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Inspection } from '../../core/ports/inspector.ts';
import { systemClock } from '../../runtime/drivers/clock/system.ts';
import { inspector } from '../../runtime/media/mp4/inspect/inspector.ts';
import { agreeWithFfprobe } from './agree-with-ffprobe.ts';

const run = promisify(execFile);
const inspections = inspector({ clock: systemClock() });
let folder: string;

const picture = (size = '320x180', rate = '30') => ['-f', 'lavfi', '-i', `testsrc2=s=${size}:r=${rate}:d=4`];
const tone = (rate = 48_000) => ['-f', 'lavfi', '-i', `sine=f=440:r=${rate}:d=4`];
const noise = (layout: string) => [
  '-f',
  'lavfi',
  '-i',
  `anoisesrc=d=4:r=48000,aformat=channel_layouts=${layout}`,
];
const h264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-g', '30'];
const bFrames = ['-c:v', 'libx264', '-preset', 'medium', '-bf', '3', '-pix_fmt', 'yuv420p', '-g', '60'];
const aac = ['-c:a', 'aac'];
const flags = (value: string) => ['-movflags', value];
const format = (name: string) => ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', name];

/** Arguments of ffmpeg between `-y` and the file it makes; `plain.mp4` is there. */
const matrix: [name: string, args: string[]][] = [
  ['moov-at-end.mp4', [...picture(), ...tone(), ...h264, ...aac]],
  ['moov-in-front.mp4', [...picture(), ...tone(), ...h264, ...aac, ...flags('+faststart')]],
  ['b-frames.mp4', [...picture(), ...tone(), ...bFrames, ...aac]],
  ['b-frames-negative.mp4', [...picture(), ...tone(), ...bFrames, ...aac, ...flags('negative_cts_offsets')]],
  [
    'fragments.mp4',
    [...picture(), ...tone(), ...h264, ...aac, ...flags('frag_keyframe+empty_moov+default_base_moof')],
  ],
  [
    'fragments-absolute.mp4',
    [...picture(), ...tone(), ...bFrames, ...aac, ...flags('frag_keyframe+empty_moov')],
  ],
  ['fragments-behind-moov.mp4', [...picture(), ...tone(), ...bFrames, ...aac, ...flags('frag_keyframe')]],
  [
    'fragments-edited.mp4',
    [...picture(), ...tone(), ...bFrames, ...aac, ...flags('frag_keyframe+delay_moov+default_base_moof')],
  ],
  [
    'fragments-sidx.mp4',
    [
      ...picture(),
      ...tone(),
      ...h264,
      ...aac,
      ...flags('frag_keyframe+empty_moov+default_base_moof+dash+global_sidx'),
    ],
  ],
  [
    'fragments-apart.mp4',
    [...picture(), ...tone(), ...h264, ...aac, ...flags('frag_keyframe+empty_moov+separate_moof')],
  ],
  ['ntsc.mp4', [...picture('320x180', '30000/1001'), ...bFrames]],
  ['film.mp4', [...picture('320x180', '24000/1001'), ...bFrames]],
  ['vfr.mp4', [...picture(), ...h264, '-vf', "select='not(mod(n,7))+lt(n,40)'", '-vsync', 'vfr']],
  ['rotated.mp4', ['-i', 'plain.mp4', '-c', 'copy', '-metadata:s:v', 'rotate=90']],
  ['cut-by-edits.mp4', ['-ss', '1.37', '-i', 'plain.mp4', '-c', 'copy']],
  ['late-sound.mp4', [...picture(), '-itsoffset', '1.5', ...tone(), ...h264, ...aac]],
  ['late-picture.mp4', ['-itsoffset', '1.5', ...picture(), ...tone(), ...h264, ...aac]],
  ['mono.mp4', [...picture(), ...tone(), ...h264, ...aac, '-ac', '1']],
  ['stereo-44100.mp4', [...picture(), ...tone(44_100), ...h264, ...aac, '-ac', '2']],
  ['low-rate.mp4', [...picture(), ...tone(8000), ...h264, ...aac]],
  ...['5.1', 'quad', '7.1', '2.1', '6.1', '4.0'].map((layout): [string, string[]] => [
    `${layout}.mp4`,
    [...picture(), ...noise(layout), ...h264, ...aac],
  ]),
  [
    'several-sounds.mp4',
    [...picture(), ...tone(22_050), ...tone(44_100), '-map', '0', '-map', '1', '-map', '2', ...h264, ...aac],
  ],
  ['only-picture.mp4', [...picture(), ...h264]],
  ['only-sound.m4a', [...tone(), ...aac]],
  ['4k.mp4', ['-f', 'lavfi', '-i', 'testsrc2=s=3840x2160:r=30:d=0.5', ...h264]],
  ['cropped.mp4', [...picture('426x240'), ...h264]],
  ['odd-size.mp4', [...picture('321x241'), ...format('yuv444p')]],
  ['anamorphic.mp4', [...picture('720x576', '25'), ...h264, '-aspect', '16:9']],
  ['interlaced.mp4', [...picture(), '-vf', 'tinterlace', ...h264, '-flags', '+ilme+ildct']],
  ['avc3.mp4', [...picture(), ...h264, '-tag:v', 'avc3']],
  ...[
    'yuvj420p',
    'yuv422p',
    'yuv444p',
    'yuvj444p',
    'yuv420p10le',
    'yuv422p10le',
    'yuv444p10le',
    'gray',
    'gray10le',
  ].map((name): [string, string[]] => [`${name}.mp4`, [...picture(), ...format(name)]]),
  ['rgb.mp4', [...picture(), '-c:v', 'libx264rgb', '-preset', 'ultrafast']],
  ['timecode.mov', ['-i', 'plain.mp4', '-c', 'copy', '-timecode', '01:00:00:00']],
  ['quicktime.mov', [...picture(), ...tone(), ...h264, ...aac]],
  ['chapters.mp4', ['-i', 'plain.mp4', '-i', 'chapters.txt', '-map_metadata', '1', '-c', 'copy']],
  [
    'cover.mp4',
    [
      '-i',
      'plain.mp4',
      '-i',
      'cover.png',
      '-map',
      '0',
      '-map',
      '1',
      '-c',
      'copy',
      '-disposition:v:1',
      'attached_pic',
    ],
  ],
  [
    'subtitles.mp4',
    ['-i', 'plain.mp4', '-i', 'text.srt', '-map', '0', '-map', '1', '-c', 'copy', '-c:s', 'mov_text'],
  ],
  [
    'ac3-beside.mp4',
    [
      ...picture(),
      ...tone(),
      '-map',
      '0',
      '-map',
      '1',
      '-map',
      '1',
      ...h264,
      '-c:a:0',
      'aac',
      '-c:a:1',
      'ac3',
    ],
  ],
  [
    'long-chunks.mp4',
    ['-i', 'plain.mp4', '-c', 'copy', '-max_interleave_delta', '0', '-chunk_duration', '3000000'],
  ],
];

const refused: [name: string, args: string[], reason: RegExp][] = [
  [
    'hevc.mp4',
    [...picture(), '-c:v', 'libx265', '-preset', 'ultrafast', '-x265-params', 'log-level=none'],
    /is HEVC \(hev1\); expected H.264/,
  ],
  ['mpeg4.mp4', [...picture(), '-c:v', 'mpeg4'], /is MPEG-4 Visual \(mp4v\); expected H.264/],
  ['mp3.mp4', [...picture(), ...tone(), ...h264, '-c:a', 'libmp3lame'], /track 2\) is MP3; expected AAC/],
  [
    'opus.mp4',
    [...picture(), ...tone(), ...h264, '-c:a', 'libopus'],
    /track 2\) is Opus \(Opus\); expected AAC/,
  ],
  ['matroska.mp4', [...picture(), ...h264, '-f', 'matroska'], /Matroska or WebM; expected an mp4/],
  ['flash.mp4', [...picture(), ...h264, '-f', 'flv'], /it is FLV; expected an mp4/],
  ['stream.mp4', [...picture(), ...h264, '-f', 'mpegts'], /MPEG transport stream; expected an mp4/],
  ['bare.mp4', [...picture(), ...h264, '-f', 'h264'], /expected an mp4/],
  [
    'encrypted.mp4',
    [
      '-i',
      'plain.mp4',
      '-c',
      'copy',
      '-encryption_scheme',
      'cenc-aes-ctr',
      '-encryption_key',
      '00112233445566778899aabbccddeeff',
      '-encryption_kid',
      '00112233445566778899aabbccddeeff',
    ],
    /is encrypted \(encv\)/,
  ],
];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-mp4-'));
  await ffmpeg([...picture(), ...tone(), ...bFrames, ...aac], 'plain.mp4');
  await ffmpeg(['-i', 'plain.mp4', '-frames:v', '1'], 'cover.png');
  await writeFile(join(folder, 'text.srt'), '1\n00:00:00,000 --> 00:00:02,000\nwords\n');
  const chapters = ';FFMETADATA1\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=2000\ntitle=one\n';
  await writeFile(
    join(folder, 'chapters.txt'),
    `${chapters}[CHAPTER]\nTIMEBASE=1/1000\nSTART=2000\nEND=4000\ntitle=two\n`,
  );
});

afterAll(async () => {
  await inspections.close();
  await rm(folder, { recursive: true, force: true });
});

describe('agrees with ffprobe', () => {
  it.each(matrix)('%s', async (name, args) => {
    await ffmpeg(args, name);
    const inspection = await inspect(name);
    if (!inspection.ok) throw new Error(inspection.reason);
    await agreeWithFfprobe(inspection.spec, join(folder, name));
  });

  it('of HE-AAC told in its configuration, with the old decoders in mind and without', async () => {
    const [low] = ['24000.mp4'];
    await ffmpeg([...tone(24_000), ...aac, '-ac', '2'], low);
    for (const [to, config] of [
      // AOT 5, 24 kHz, stereo, 48 kHz, AOT 2; and AOT 2 with the extension behind it.
      ['he-aac.mp4', '2b118800'],
      ['he-aac-behind.mp4', '131056e598'],
      ['he-aac-v2.mp4', 'eb098800'],
    ]) {
      await reconfigure(low, { to, config });
      const inspection = await inspect(to);
      expect(inspection).toMatchObject({ ok: true, spec: { tracks: [{ sampleRate: 48_000, channels: 2 }] } });
      if (inspection.ok && to !== 'he-aac-v2.mp4') await agreeWithFfprobe(inspection.spec, join(folder, to));
    }
  });
});

describe('refuses what is no mp4 with H.264 and AAC', () => {
  it.each(refused)('%s', async (name, args, reason) => {
    await ffmpeg(args, name);
    expect(await inspect(name)).toMatchObject({ ok: false, reason: expect.stringMatching(reason) });
  });
});

async function ffmpeg(args: readonly string[], to: string): Promise<void> {
  await run('ffmpeg', ['-v', 'error', '-y', ...args, to], { cwd: folder });
}

function inspect(name: string): Promise<Inspection> {
  return inspections.inspect({ path: join(folder, name) }, { signal: AbortSignal.timeout(60_000) });
}

/** A copy whose AudioSpecificConfig is another one; the boxes around it grow. The moov box is at the end. */
async function reconfigure(from: string, options: { to: string; config: string }): Promise<void> {
  const bytes = Buffer.from(await Bun.file(join(folder, from)).arrayBuffer());
  const config = Buffer.from(options.config, 'hex');
  const esds = bytes.indexOf('esds', 0, 'latin1');
  const specific = bytes.indexOf(Buffer.from([5, 0x80, 0x80, 0x80]), esds);
  const grown = config.length - bytes[specific + 4];
  for (const at of [specific + 4, bytes.indexOf(Buffer.from([4, 0x80, 0x80, 0x80]), esds) + 4, esds + 12])
    bytes[at] = at === specific + 4 ? config.length : bytes[at] + grown;
  for (const type of ['moov', 'trak', 'mdia', 'minf', 'stbl', 'stsd', 'mp4a', 'esds']) {
    const at = bytes.lastIndexOf(type, esds, 'latin1') - 4;
    bytes.writeUInt32BE(bytes.readUInt32BE(at) + grown, at);
  }
  const end = specific + 5 + config.length - grown;
  await writeFile(join(folder, options.to), [bytes.subarray(0, specific + 5), config, bytes.subarray(end)]);
}
