import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { broadcast } from '../../kit/publisher/broadcast.ts';
import type { Clip } from '../../kit/publisher/flv-file.ts';
import { root } from './server.ts';

/** Something that broadcasts until it is ended. */
export interface Encoder extends AsyncDisposable {
  /** What it printed: complaints. */
  readonly log: string;
  readonly isRunning: boolean;
}

export const ffmpeg = (...options: readonly string[]): Encoder =>
  run('ffmpeg', ['-hide_banner', '-nostats', '-nostdin', '-loglevel', 'warning', ...options]);

/**
 * An RTMP broadcast of pictures and sound by rtmp2sink; a certificate is not looked at. Its sources are not live, the sink
 * keeps the pace: on a busy machine frames come late, and behind live sources the muxer drops those.
 */
export const gstreamer = (url: string): Encoder =>
  run('gst-launch-1.0', [
    '-q',
    ...'videotestsrc pattern=ball ! video/x-raw,width=320,height=180,framerate=30/1'.split(' '),
    ...'! openh264enc gop-size=60 ! h264parse ! mux.'.split(' '),
    ...'audiotestsrc ! audio/x-raw,rate=48000,channels=2 ! voaacenc ! aacparse ! mux.'.split(' '),
    ...'flvmux name=mux streamable=true ! rtmp2sink tls-validation-flags=0'.split(' '),
    `location=${url}`,
  ]);

/** The library that OBS sends with, as OBS uses it. */
export const librtmp = (url: string, file: string): Encoder =>
  run(process.execPath, ['test/e2e/harness/librtmp.ts', url, file]);

/** Our own publisher; `firstTimestamp` in milliseconds. */
export async function publisher(
  url: string,
  options: { clip: Clip; firstTimestamp?: number },
): Promise<Encoder> {
  const encoder = broadcast({ url, ...options });
  let end = '';
  void encoder.ended.then(({ message }) => (end = message));
  await encoder.started;
  return {
    get log() {
      return end;
    },
    get isRunning() {
      return end === '';
    },
    [Symbol.asyncDispose]: () => encoder.stop({ clean: true }),
  };
}

/** Lets ffmpeg write a file. */
export async function encode(options: readonly string[]): Promise<void> {
  await promisify(execFile)('ffmpeg', ['-nostdin', '-y', '-loglevel', 'error', ...options]);
}

function run(command: string, options: readonly string[]): Encoder {
  const printed: string[] = [];
  const child: ChildProcess = spawn(command, options, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  for (const pipe of [child.stdout, child.stderr]) pipe?.on('data', (chunk) => printed.push(String(chunk)));
  child.on('error', (error) => printed.push(`${command}: ${error.message}\n`));
  const isRunning = () => child.pid !== undefined && child.exitCode === null && child.signalCode === null;
  return {
    get log() {
      return printed.join('');
    },
    get isRunning() {
      return isRunning();
    },
    async [Symbol.asyncDispose]() {
      if (!isRunning()) return;
      const exit = once(child, 'exit');
      child.kill('SIGINT');
      const hardStop = setTimeout(() => child.kill('SIGKILL'), 3000);
      await exit;
      clearTimeout(hardStop);
    },
  };
}
