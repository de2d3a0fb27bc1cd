/**
 * Records what real encoders say to a server, byte by byte, for the fuzzer to damage: `seeds/<name>.rtmp`.
 * Run it again when an encoder has learned something new: node_modules/.bin/bun test/fuzz/rtmp/record.ts
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Socket } from 'bun';
import { openListener } from '../../rtmp/wire.ts';

const folder = join(import.meta.dirname, 'seeds');
const picture = ['-f', 'lavfi', '-i', 'testsrc2=size=160x90:rate=10'];
const sound = ['-f', 'lavfi', '-i', 'sine=sample_rate=48000'];
const x264 = ['-c:v', 'libx264', '-preset', 'ultrafast', '-g', '5', '-b:v', '60k', '-pix_fmt', 'yuv420p'];
const aac = ['-c:a', 'aac', '-b:a', '24k'];
const flv = (url: string) => ['-t', '1.5', '-f', 'flv', url];

/** Name → the encoder that publishes to a URL. Each is far shorter than the server allows. */
const encoders: Record<string, (url: string) => [program: string, ...args: string[]]> = {
  'ffmpeg-avc-aac': (url) => ['ffmpeg', ...picture, ...sound, ...x264, '-bf', '2', ...aac, ...flv(url)],
  'ffmpeg-audio': (url) => ['ffmpeg', ...sound, ...aac, ...flv(url)],
  'ffmpeg-video': (url) => ['ffmpeg', ...picture, ...x264, ...flv(url)],
  'ffmpeg-late-clock': (url) => [
    ...(['ffmpeg', ...picture, ...sound, ...x264, ...aac] as const),
    // Across the border where timestamps need the extended field.
    ...['-output_ts_offset', '16776.5', ...flv(url)],
  ],
  'gstreamer-rtmp2sink': (url) => [
    'gst-launch-1.0',
    ...'-q flvmux name=mux streamable=true'.split(' '),
    ...['!', 'rtmp2sink', `location=${url}`],
    ...'videotestsrc num-buffers=15 ! video/x-raw,width=160,height=90,framerate=10/1 !'.split(' '),
    ...'x264enc tune=zerolatency key-int-max=5 bitrate=60 ! video/x-h264,profile=baseline ! mux.'.split(' '),
    ...'audiotestsrc num-buffers=60 ! avenc_aac bitrate=24000 ! mux.'.split(' '),
  ],
};

const server = openListener();
for (const [name, encoder] of Object.entries(encoders)) {
  const bytes: Buffer[] = [];
  const proxy = recorder(bytes);
  const [program, ...args] = encoder(`rtmp://127.0.0.1:${proxy.port}/live/fuzz-key`);
  const child = spawn(program, program === 'ffmpeg' ? ['-v', 'error', '-nostdin', ...args] : args, {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [code] = await once(child, 'exit');
  await Bun.sleep(300);
  proxy.stop(true);
  const whole = Buffer.concat(bytes);
  if (code !== 0 || !whole.includes('publish')) throw new Error(`${name}: ${code}, ${whole.length} bytes`);
  writeFileSync(join(folder, `${name}.rtmp`), whole);
  console.log(`${name}: ${whole.length} bytes`);
}
server.listener.stop();
process.exit(0);

/** Passes everything on to the server and keeps what the encoder says. */
function recorder(bytes: Buffer[]) {
  return Bun.listen<{ upstream: Promise<Socket> }>({
    hostname: '127.0.0.1',
    port: 0,
    socket: {
      open(client) {
        const upstream = Bun.connect({
          hostname: '127.0.0.1',
          port: server.listener.port,
          socket: { data: (_, answer) => void client.write(answer), close: () => void client.end() },
        });
        client.data = { upstream };
      },
      async data(client, part) {
        bytes.push(Buffer.from(part));
        const copy = Buffer.from(part);
        (await client.data.upstream).write(copy);
      },
      async close(client) {
        (await client.data.upstream).end();
      },
    },
  });
}
