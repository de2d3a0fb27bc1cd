import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { broadcast } from '../demo/broadcast.ts';
import { readClip } from '../demo/clip.ts';
import { complain, Failure } from './command.ts';

/** What is kept of the complaints of ffmpeg, characters. */
const keptComplaints = 2000;

const input = {
  pattern: [
    ...['-re', '-f', 'lavfi', '-i', 'testsrc2=size=1280x720:rate=30'],
    ...['-re', '-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=48000'],
  ],
  film: (file: string, isLoop: boolean) => [
    ...['-re', ...(isLoop ? ['-stream_loop', '-1'] : []), '-i', `file:${file}`],
    ...['-map', '0:v:0?', '-map', '0:a:0?'],
  ],
};
/** Any player can show it, with a key frame every 2 s. */
const output = [
  ...['-c:v', 'libx264', '-preset', 'veryfast', '-pix_fmt', 'yuv420p', '-sc_threshold', '0'],
  ...['-force_key_frames', 'expr:gte(t,n_forced*2)', '-maxrate', '4M', '-bufsize', '4M'],
  ...['-c:a', 'aac', '-b:a', '128k', '-ar', '48000', '-ac', '2', '-f', 'flv'],
];

/** Broadcasts a film, or the test pattern, until it is over or `signal`. Rejects when it is refused or the connection is lost. */
export async function publishWithFfmpeg(
  url: string,
  options: { ffmpeg: string; file: string | undefined; isLoop: boolean; signal: AbortSignal },
): Promise<void> {
  const { ffmpeg, file, isLoop, signal } = options;
  const source = file === undefined ? input.pattern : input.film(file, isLoop);
  const quiet = ['-hide_banner', '-nostdin', '-loglevel', 'error'];
  const child = spawn(ffmpeg, [...quiet, ...source, ...output, url], { stdio: ['ignore', 'ignore', 'pipe'] });
  let complaints = '';
  child.stderr.on('data', (chunk) => {
    complaints = (complaints + chunk).slice(-keptComplaints);
  });
  // It says goodbye to the server, and then ends.
  const stop = () => child.kill('SIGINT');
  signal.addEventListener('abort', stop);
  const [code] = await once(child, 'close').finally(() => signal.removeEventListener('abort', stop));
  if (code === 0 || signal.aborted) return;
  // It repeats the URL, and the end of that is the key.
  const key = url.split('/').at(-1) ?? url;
  const why = complaints.replaceAll(key, '***').trim().split('\n').slice(-3).join(' ');
  throw new Failure(`the broadcast was refused or cut off. ffmpeg ended with ${code}: ${why}`);
}

/** Broadcasts the clip of the demo, which needs no ffmpeg, until `signal`. */
export async function publishClip(url: string, { signal }: { signal: AbortSignal }): Promise<void> {
  const clip = await readClip(join(import.meta.dirname, '../demo/clip.flv'));
  const say = (line: string) => void (line === 'on air' || complain(line));
  await broadcast(url, { clip, signal, say }).catch((error: Error) => {
    throw new Failure(`${error.message}.`);
  });
}
