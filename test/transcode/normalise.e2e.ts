/** Films of other containers and codecs that are uploaded: what the real ffmpeg makes of them, and what it is not let at. */
import { mkdtempSync, rmSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Server, startServer } from '../e2e/harness/server.ts';
import { upload } from '../e2e/harness/uploads.ts';
import { ffmpeg, numberAt, numbered, probe, processesOf, sound } from './films.ts';

const folder = mkdtempSync(join(tmpdir(), 'millrace-normalise-'));
const path = (name: string) => join(folder, name);
let server: Server;
let strict: Server;

beforeAll(async () => {
  server = await startServer();
  strict = await startServer({ env: { MILLRACE_PLUGINS__ASSETS__NORMALISE: 'false' } });
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await strict[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

const seconds = 5;
const x264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-g', '60'];
/** File, and how ffmpeg makes it. `isKept`: the pictures are taken over as they are. */
const films: readonly [name: string, args: readonly string[], isKept?: true][] = [
  // As phones film.
  [
    'of-a-phone.mov',
    [
      '-c:v',
      'libx265',
      '-preset',
      'ultrafast',
      '-x265-params',
      'log-level=none',
      '-tag:v',
      'hvc1',
      '-c:a',
      'aac',
    ],
  ],
  [
    'vp8.webm',
    ['-c:v', 'libvpx', '-deadline', 'realtime', '-cpu-used', '8', '-b:v', '1M', '-c:a', 'libopus'],
  ],
  ['of-obs.mkv', [...x264, '-bf', '2', '-c:a', 'libopus'], true],
  ['pcm.mkv', [...x264, '-c:a', 'pcm_s16le'], true],
  ['of-a-camera.ts', [...x264, '-c:a', 'aac'], true],
  ['mpeg2.ts', ['-c:v', 'mpeg2video', '-b:v', '4M', '-c:a', 'mp2']],
  ['mpeg2.mpg', ['-c:v', 'mpeg2video', '-b:v', '4M', '-c:a', 'mp2']],
  ['old.avi', ['-c:v', 'mpeg4', '-b:v', '2M', '-c:a', 'libmp3lame']],
  ['index-behind.mov', ['-c:v', 'mpeg4', '-b:v', '2M', '-c:a', 'pcm_s16le']],
  ['index-in-front.mov', ['-c:v', 'mpeg4', '-b:v', '2M', '-c:a', 'pcm_s16le', '-movflags', '+faststart']],
  [
    'mpeg4-in-fragments.mp4',
    ['-c:v', 'mpeg4', '-b:v', '2M', '-c:a', 'aac', '-movflags', '+frag_keyframe+empty_moov'],
  ],
  ['flash.flv', ['-c:v', 'flv', '-b:v', '2M', '-c:a', 'libmp3lame', '-ar', '44100']],
  ['silent.webm', ['-an', '-c:v', 'libvpx', '-deadline', 'realtime', '-cpu-used', '8', '-b:v', '1M']],
];

describe('a film in another form', () => {
  it.each(films)('%s', async (name, args, isKept) => {
    await ffmpeg(...numbered(seconds, '640x360'), ...sound(seconds), ...args, path(name));
    const refused = await upload(strict, path(name));
    expect([refused.status, refused.body.code]).toEqual([422, 'upload.refused']);

    const { status, body } = await upload(server, path(name));
    expect([status, body.status, body.statusMessage]).toEqual([200, 'ready', undefined]);
    const original = await fetch(body.originalUrl);
    expect(Buffer.from(await original.arrayBuffer()).equals(await readFile(path(name)))).toBe(true);
    expect(original.headers.get('content-type')).toMatch(/^video\//);
    const { streams } = await probe(body.downloadUrl);
    const codecs = streams.map(({ codec_name }: { codec_name: string }) => codec_name);
    expect(codecs).toEqual(name === 'silent.webm' ? ['h264'] : ['h264', 'aac']);
    expect(streams[0]).toMatchObject({ width: 640, height: 360 });
    for (const of of [body.downloadUrl, body.playbackUrl]) {
      expect(await ffmpeg('-i', of, '-f', 'null', '-')).toBe('');
      for (const number of [30, 100]) {
        // Some of these containers count time in steps of a millisecond, others begin a picture late.
        expect(Math.abs((await numberAt(of, (number - 0.5) / 30)) - number)).toBeLessThanOrEqual(3);
      }
    }
    expect(Math.abs(body.videoSpec.duration - seconds)).toBeLessThan(0.2);
    if (isKept) expect(streams[0].nb_read_packets).toBe((await probe(path(name))).streams[0].nb_read_packets);
  });
});

it('QuickTime with H.264 and AAC is stored as it came, and says what it is', async () => {
  const name = path('h264.mov');
  await ffmpeg(...numbered(2, '640x360'), ...sound(2), ...x264, '-c:a', 'aac', name);
  for (const of of [server, strict]) {
    const { status, body } = await upload(of, name);
    expect([status, body.status, body.videoSpec.format]).toEqual([200, 'ready', 'mov']);
    expect(body.size).toBe((await readFile(name)).length);
    expect(body).not.toHaveProperty('originalUrl');
  }
});

describe('a film that is cut off', () => {
  it.each([
    ['before any of its pictures', 3000],
    ['in the middle', 0.5],
  ])('%s is refused', async (_where, part) => {
    const name = path(`whole-${part}.webm`);
    const vp8 = [
      '-c:v',
      'libvpx',
      '-deadline',
      'realtime',
      '-cpu-used',
      '8',
      '-b:v',
      '1M',
      '-c:a',
      'libopus',
    ];
    await ffmpeg(...numbered(6, '640x360'), ...sound(6), ...vp8, name);
    const whole = await readFile(name);
    const cut = path(`cut-${part}.webm`);
    await writeFile(cut, whole.subarray(0, part < 1 ? Math.round(part * whole.length) : part));
    const { status, body } = await upload(server, cut);
    expect([status, body.code]).toEqual([422, 'conversion.refused']);
    expect(body.errors[0]).toMatch(/none of its pictures could be read|only \d\.\d of 6\.0 s of it/);
  });
});

describe('a film beyond what is converted', () => {
  it.each([
    [16_383, 16_383],
    [9000, 4000],
  ])('is refused when its pictures have %i × %i pixels', async (width, height) => {
    const name = path(`${width}.webm`);
    await ffmpeg(...numbered(1, '640x360'), '-c:v', 'libvpx', '-deadline', 'realtime', name);
    const bytes = await readFile(name);
    // What a key frame says of itself (RFC 6386 §9.1): ffmpeg could not make one for want of memory.
    for (let at = bytes.indexOf('9d012a', 0, 'hex'); at >= 0; at = bytes.indexOf('9d012a', at + 3, 'hex')) {
      bytes.writeUInt16LE(width, at + 3);
      bytes.writeUInt16LE(height, at + 5);
    }
    await writeFile(name, bytes);
    const { status, body } = await upload(server, name);
    expect([status, body.code]).toEqual([422, 'conversion.refused']);
    expect(body.errors[0]).toContain('its pictures are too large');
  });

  it('is refused when it has 10,000 pictures a second', async () => {
    const source = ['-f', 'lavfi', '-i', 'color=s=64x64:r=10000:d=12'];
    await ffmpeg(...source, '-c:v', 'mpeg4', path('fast.avi'));
    const { status, body } = await upload(server, path('fast.avi'));
    expect([status, body.code]).toEqual([422, 'conversion.refused']);
    expect(body.errors[0]).toContain('more than 250 pictures a second');
  });

  it('leaves neither processes nor files', async () => {
    expect(await processesOf(server.pid)).toEqual([]);
    expect(await readdir(join(server.dataDir, 'uploads'))).toEqual([]);
  });
});
