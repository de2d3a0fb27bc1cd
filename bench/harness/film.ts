import { statSync } from 'node:fs';
import { join } from 'node:path';
import { start } from './children.ts';
import { loadClip } from './clip.ts';

/** A film of so many seconds or bytes, its index at the end: the clip again and again. `rate` in Mb/s. */
export async function makeFilm(
  folder: string,
  options: { readonly name: string; readonly rate: number } & (
    | { readonly seconds: number }
    | { readonly bytes: number }
  ),
): Promise<{ readonly path: string; readonly bytes: number }> {
  const { name, rate } = options;
  const audio = 128_000;
  const clip = await loadClip({ video: Math.round(rate * 1e6) - audio, audio });
  const path = join(folder, name);
  const length = 'seconds' in options ? ['-t', `${options.seconds}`] : ['-fs', `${options.bytes}`];
  const command = [
    'ffmpeg',
    '-v',
    'error',
    '-y',
    '-stream_loop',
    '-1',
    '-i',
    clip,
    ...length,
    '-c',
    'copy',
    path,
  ];
  const ffmpeg = start(command);
  const code = await ffmpeg.exited;
  if (code !== 0) throw new Error(`ffmpeg could not make ${name} (${code}): ${ffmpeg.output}`);
  return { path, bytes: statSync(path).size };
}
