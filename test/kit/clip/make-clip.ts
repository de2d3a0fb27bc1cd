/**
 * Makes demo/clip.flv: `bun test/kit/clip/make-clip.ts`. By hand, needs ffmpeg with libx264 and the DejaVu fonts;
 * the result is committed. Pictures and sound are drawn here, ffmpeg encodes them, and the two tracks are
 * joined here again so that both are exactly as long as the loop.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQUARES } from '../frame-number.ts';
import { type FlvTag, readFlvFile } from '../publisher/flv-file.ts';
import { HEIGHT, sceneOf, WIDTH } from './scene.ts';

/** 24 s: 720 pictures, and 1,125 AAC frames of 1,024 samples at 48 kHz to the sample. */
const FPS = 30;
const FRAMES = 720;
const RATE = 48_000;
const SECONDS = FRAMES / FPS;
const AUDIO_FRAMES = (SECONDS * RATE) / 1024;

const folder = await mkdtemp(join(tmpdir(), 'millrace-clip-'));
try {
  const videoPath = join(folder, 'video.flv');
  const audioPath = join(folder, 'audio.flv');
  await encodeVideo(videoPath);
  await encodeAudio(audioPath);
  const video = await readFlvFile(videoPath);
  const audio = await readFlvFile(audioPath);
  const pictures = video.tags.map((tag, n): FlvTag => ({ ...tag, timestamp: Math.round((n * 1000) / FPS) }));
  if (pictures.length !== FRAMES) throw new Error(`${pictures.length} pictures instead of ${FRAMES}`);

  // The middle of three loops, so that the first frame overlaps with the last one as it will when looped.
  // One frame of encoder delay; three frames earlier because B-frames show pictures 67 ms after their
  // decoding time.
  const from = AUDIO_FRAMES + 1 - 3;
  const sounds = audio.tags
    .slice(from, from + AUDIO_FRAMES)
    .map((tag, n): FlvTag => ({ ...tag, timestamp: Math.round((n * 1024 * 1000) / RATE) }));
  const media = [...pictures, ...sounds].sort((a, b) => a.timestamp - b.timestamp);
  const headers: FlvTag[] = [
    { type: 'script', timestamp: 0, body: video.metadata! },
    { type: 'video', timestamp: 0, body: video.videoHeader! },
    { type: 'audio', timestamp: 0, body: audio.audioHeader! },
  ];
  const file = flvOf([...headers, ...media]);
  await writeFile(join(import.meta.dirname, '../../../demo/clip.flv'), file);
  console.log(`demo/clip.flv: ${file.length} bytes, ${SECONDS} s`);
} finally {
  await rm(folder, { recursive: true });
}

async function encodeVideo(path: string): Promise<void> {
  const fonts = '/usr/share/fonts/truetype/dejavu';
  const clock = '%{pts\\:hms}';
  const texts = [
    `drawtext=fontfile=${fonts}/DejaVuSans-ExtraLight.ttf:text=Millrace:fontsize=76:fontcolor=white@0.95:x=56:y=44`,
    'drawbox=x=934:y=48:w=290:h=58:color=0x14202e@0.55:t=fill',
    // The clock begins with a place for a sign, which is empty.
    `drawtext=fontfile=${fonts}/DejaVuSansMono.ttf:text='${clock}':fontsize=38:fontcolor=white:x=920:y=62`,
  ].join(',');
  const ffmpeg = Bun.spawn({
    cmd: [
      ...['ffmpeg', '-v', 'error', '-y', '-f', 'rawvideo', '-pix_fmt', 'rgb24'],
      ...['-s', `${WIDTH}x${HEIGHT}`, '-r', `${FPS}`, '-i', 'pipe:0'],
      ...['-vf', `${texts},scale=out_color_matrix=bt709:out_range=tv,format=yuv420p`],
      ...['-colorspace', 'bt709', '-color_primaries', 'bt709', '-color_trc', 'bt709', '-color_range', 'tv'],
      ...['-c:v', 'libx264', '-profile:v', 'high', '-level', '3.1', '-preset', 'slower', '-crf', '28'],
      ...['-maxrate', '1200k', '-bufsize', '1200k', '-bf', '2', '-g', '60', '-keyint_min', '60'],
      ...['-sc_threshold', '0', '-flags', '+cgop', '-aq-mode', '3', '-map_metadata', '-1'],
      ...['-flags:v', '+bitexact', '-flvflags', 'no_duration_filesize', '-f', 'flv', path],
    ],
    stdin: 'pipe',
    stderr: 'inherit',
  });
  const scene = sceneOf();
  for (let n = 0; n < FRAMES; n++) {
    const picture = scene(n / FRAMES);
    paintNumber(picture, n);
    ffmpeg.stdin.write(picture);
    await ffmpeg.stdin.flush();
  }
  await ffmpeg.stdin.end();
  if ((await ffmpeg.exited) !== 0) throw new Error('ffmpeg could not encode the pictures');
}

function paintNumber(picture: Uint8Array, number: number): void {
  const { bits, size, pitch, left, top, margin, grey } = SQUARES;
  const box = (x: number, y: number, w: number, h: number, value: number): void => {
    for (let row = y; row < y + h; row++)
      picture.fill(value, (row * WIDTH + x) * 3, (row * WIDTH + x + w) * 3);
  };
  const width = (bits - 1) * pitch + size;
  box(left - margin, top - margin / 2, width + 2 * margin, size + margin, grey);
  for (let i = 0; i < bits; i++) {
    box(left + i * pitch, top, size, size, (number >> (bits - 1 - i)) & 1 ? 255 : 0);
  }
}

/** A slow, soft chime: one note every second from a pentatonic scale, its end running over the seam. */
async function encodeAudio(path: string): Promise<void> {
  const samples = SECONDS * RATE;
  const loop = new Float32Array(samples);
  const scale = [220, 261.63, 293.66, 329.63, 392, 440, 523.25];
  const melody = [0, 3, 5, 4, 2, 3, 6, 5, 3, 4, 2, 1, 0, 2, 4, 5, 3, 6, 4, 3, 1, 2, 3, 1];
  for (const [second, note] of melody.entries()) {
    const pitch = scale[note];
    for (let i = 0; i < 4 * RATE; i++) {
      const t = i / RATE;
      const loud = 0.05 * Math.min(1, t / 0.02) * Math.exp(-t * 1.6) * Math.min(1, 4 - t);
      const tone =
        Math.sin(2 * Math.PI * pitch * t) + 0.3 * Math.sin(4 * Math.PI * pitch * t) * Math.exp(-t * 3);
      loop[(second * RATE + i) % samples] += loud * tone;
    }
  }
  const pcm = new Float32Array(samples * 3);
  for (let i = 0; i < 3; i++) pcm.set(loop, i * samples);
  const ffmpeg = Bun.spawn({
    cmd: [
      ...['ffmpeg', '-v', 'error', '-y', '-f', 'f32le', '-ar', `${RATE}`, '-ac', '1', '-i', 'pipe:0'],
      ...['-ac', '2', '-c:a', 'aac', '-b:a', '64k', '-flags:a', '+bitexact', '-f', 'flv', path],
    ],
    stdin: new Blob([pcm]),
    stderr: 'inherit',
  });
  if ((await ffmpeg.exited) !== 0) throw new Error('ffmpeg could not encode the sound');
}

function flvOf(tags: readonly FlvTag[]): Uint8Array {
  const codes = { audio: 8, video: 9, script: 18 } as const;
  const file = new Uint8Array(13 + tags.reduce((sum, tag) => sum + tag.body.length + 15, 0));
  file.set([0x46, 0x4c, 0x56, 1, 5, 0, 0, 0, 9]);
  const view = new DataView(file.buffer);
  let at = 13;
  for (const { type, timestamp, body } of tags) {
    view.setUint32(at, (codes[type] << 24) | body.length);
    view.setUint32(at + 4, ((timestamp & 0xffffff) << 8) | (timestamp >>> 24));
    file.set(body, at + 11);
    view.setUint32(at + 11 + body.length, body.length + 11);
    at += body.length + 15;
  }
  return file;
}
