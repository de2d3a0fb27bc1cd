import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { definePlugin, type RenditionRun } from 'millrace/plugin';

/** A small version of every broadcast with a red square in it, made by a process of its own. */
export default definePlugin({
  id: 'overlay',
  summary: 'a version of the video with something in it',
  contract: 3,
  media(broadcast) {
    broadcast.rendition({ name: 'overlay', width: 320, height: 180, bitrate: 300_000, encode });
    return undefined;
  },
});

async function encode({ media, write, from, signal }: RenditionRun): Promise<void> {
  const trim = from === undefined ? '' : `trim=start=${from.toFixed(6)},`;
  const ffmpeg = spawn(
    'ffmpeg',
    [
      ...[
        '-v',
        'error',
        '-copyts',
        '-analyzeduration',
        '0',
        '-fpsprobesize',
        '0',
        '-f',
        'mp4',
        '-i',
        'pipe:0',
      ],
      ...['-map', '0:v:0', '-vf', `${trim}scale=320:180,drawbox=w=40:h=40:color=red:t=fill,format=yuv420p`],
      // Pictures keep their times, and come one for one: no B-frames, key frames where the source has them.
      ...['-fps_mode', 'passthrough', '-enc_time_base', '1:90000', '-c:v', 'libx264', '-preset', 'ultrafast'],
      ...['-tune', 'zerolatency', '-bf', '0', '-b:v', '300k', '-maxrate', '300k', '-bufsize', '300k'],
      ...['-sc_threshold', '0', '-g', '1000000', '-forced-idr', '1', '-force_key_frames', 'source'],
      // A fragment for each picture, as soon as there is one.
      ...['-flags', '+global_header', '-video_track_timescale', '90000', '-frag_duration', '1'],
      ...['-movflags', '+empty_moov+default_base_moof+frag_discont+skip_trailer', '-flush_packets', '1'],
      ...['-avoid_negative_ts', 'disabled', '-f', 'mp4', 'pipe:1'],
    ],
    { stdio: ['pipe', 'pipe', 'ignore'], signal },
  );
  ffmpeg.on('error', () => {});
  ffmpeg.stdin.on('error', () => {});
  const ended = once(ffmpeg, 'close');
  const written = (async () => {
    for await (const chunk of ffmpeg.stdout) write(chunk);
  })();
  for await (const bytes of media)
    if (!ffmpeg.stdin.write(bytes)) await Promise.race([once(ffmpeg.stdin, 'drain'), ended]);
  ffmpeg.stdin.end();
  await written;
  const [code] = await ended;
  if (code !== 0 && !signal.aborted) throw new Error(`ffmpeg ended with ${code}`);
}
