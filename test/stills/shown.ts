import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Picture, readFrameNumber } from '../kit/frame-number.ts';

/** A picture as pixels, whatever its format; it is decoded by ffmpeg. */
export async function pixelsOf(
  jpeg: Uint8Array,
  options: { crop?: { x: number; y: number; width: number; height: number } } = {},
): Promise<Picture> {
  const { width, height } = await sizeOf(jpeg);
  const { crop = { x: 0, y: 0, width, height } } = options;
  const cut = `crop=${crop.width}:${crop.height}:${crop.x}:${crop.y}`;
  const arguments_ = ['-v', 'error', '-f', demuxerOf(jpeg), '-i', 'pipe:0', '-vf', cut];
  const data = await piped('ffmpeg', [...arguments_, '-f', 'rawvideo', '-pix_fmt', 'rgba', 'pipe:1'], jpeg);
  return { width: crop.width, height: crop.height, data };
}

/** The number that is painted in a picture, or a part of it, of the demo clip. Null: there is none. */
export async function numberIn(
  jpeg: Uint8Array,
  crop?: { x: number; y: number; width: number; height: number },
): Promise<number | null> {
  return readFrameNumber(await pixelsOf(jpeg, crop ? { crop } : {}));
}

export async function sizeOf(jpeg: Uint8Array): Promise<{ width: number; height: number }> {
  const entries = ['-show_entries', 'stream=width,height', '-of', 'csv=p=0'];
  const said = await piped(
    'ffprobe',
    ['-v', 'error', '-f', demuxerOf(jpeg), ...entries, '-i', 'pipe:0'],
    jpeg,
  );
  const [width, height] = said.toString().trim().split(',').map(Number);
  return { width, height };
}

/** The pictures of an animated GIF, as PNGs. */
export async function pngsOf(gif: Uint8Array): Promise<Uint8Array[]> {
  const output = ['-vsync', 'passthrough', '-c:v', 'png', '-f', 'image2pipe', 'pipe:1'];
  const folder = await mkdtemp(join(tmpdir(), 'millrace-gif-'));
  const path = join(folder, 'it.gif');
  await writeFile(path, gif);
  const all = await piped('ffmpeg', ['-v', 'error', '-i', path, ...output], gif);
  await rm(folder, { recursive: true });
  const starts: number[] = [];
  for (let at = all.indexOf(pngStart); at >= 0; at = all.indexOf(pngStart, at + 1)) starts.push(at);
  return starts.map((at, index) => all.subarray(at, starts[index + 1]));
}

const pngStart = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

function demuxerOf(picture: Uint8Array): string {
  const head = Buffer.from(picture.subarray(0, 4)).toString('latin1');
  return { '\x89PNG': 'png_pipe', RIFF: 'webp_pipe', GIF8: 'gif' }[head] ?? 'mjpeg';
}

/** The cues of a storyboard. */
export function cuesOf(vtt: string) {
  return [...vtt.matchAll(/^([\d:.]+) --> ([\d:.]+)\n(\S+)#xywh=(\d+),(\d+),(\d+),(\d+)$/gm)].map(
    ([, from, to, sheet, ...place]) => {
      const [x, y, width, height] = place.map(Number);
      return { from: seconds(from), to: seconds(to), sheet, place: { x, y, width, height } };
    },
  );
}

function seconds(timestamp: string): number {
  return timestamp.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
}

function piped(program: string, args: readonly string[], input: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    const out: Buffer[] = [];
    let errors = '';
    child.stdout.on('data', (chunk) => out.push(chunk));
    child.stderr.on('data', (chunk) => {
      errors += chunk;
    });
    child.stdin.on('error', () => {});
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0 ? resolve(Buffer.concat(out)) : reject(new Error(`${program}: ${code} ${errors}`)),
    );
    child.stdin.end(input);
  });
}
