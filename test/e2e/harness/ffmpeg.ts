import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { root } from './server.ts';
import { until } from './wait.ts';

/**
 * What is broadcast: the committed clip as it is, in a loop (30 fps, 2 s GOP), or a picture that ffmpeg encodes,
 * with a key frame every 2 s or, `rareKeys`, every 10 s.
 */
export type Source = 'clip' | 'encode' | 'rareKeys';

export interface Broadcast extends AsyncDisposable {
  /** What ffmpeg complained about. */
  readonly log: string;
  readonly isRunning: boolean;
  /** Waits until ffmpeg ends by itself. */
  ended(options: { within: number }): Promise<void>;
  /** As when the encoder's machine dies: the socket closes, nothing is said. */
  kill(): Promise<void>;
  /** It hangs: the process and its socket stay, and nothing is sent any more. */
  freeze(): void;
  /** It goes on after `freeze`. */
  thaw(): void;
  /** As a person ends it: ffmpeg unpublishes, then closes. */
  stop(): Promise<void>;
}

const demoClip = 'demo/clip.flv';
const inputs: Record<Source, string[]> = {
  clip: ['-re', '-stream_loop', '-1', '-i', demoClip, '-c', 'copy'],
  encode: [
    ...['-re', '-f', 'lavfi', '-i', 'testsrc2=size=640x360:rate=30'],
    ...['-re', '-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=48000'],
    ...[
      '-c:v',
      'libx264',
      '-preset',
      'ultrafast',
      '-bf',
      '2',
      '-g',
      '60',
      '-keyint_min',
      '60',
      '-sc_threshold',
      '0',
    ],
    ...['-b:v', '800k', '-pix_fmt', 'yuv420p', '-c:a', 'aac', '-b:a', '96k'],
  ],
  rareKeys: [
    ...['-re', '-f', 'lavfi', '-i', 'testsrc2=size=320x180:rate=30'],
    ...['-re', '-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=48000'],
    ...['-c:v', 'libx264', '-preset', 'ultrafast', '-g', '300', '-keyint_min', '300', '-sc_threshold', '0'],
    ...['-b:v', '300k', '-pix_fmt', 'yuv420p', '-c:a', 'aac', '-b:a', '96k'],
  ],
};

/** Broadcasts to an RTMP url until it is ended. With `retry`, like an encoder in the field, it dials again when it was cut off. */
export function broadcast(
  url: string,
  options: {
    source?: Source;
    /** In place of the demo clip: path of an FLV file, sent as it is, in a loop. */
    clip?: string;
    retry?: boolean;
  } = {},
): Broadcast {
  const printed: string[] = [];
  let isWanted = true;
  let child = dial();

  function dial() {
    const started = spawn(
      'ffmpeg',
      [
        '-hide_banner',
        '-nostats',
        '-loglevel',
        'warning',
        ...inputs[options.source ?? 'clip'].map((text) =>
          text === demoClip ? (options.clip ?? text) : text,
        ),
        '-f',
        'flv',
        url,
      ],
      { cwd: root, stdio: ['pipe', 'ignore', 'pipe'] },
    );
    started.stderr.on('data', (chunk) => printed.push(String(chunk)));
    started.on('error', (error) => printed.push(`ffmpeg: ${error.message}\n`));
    started.stdin.on('error', () => {});
    started.on('exit', () => {
      if (options.retry && isWanted) setTimeout(redial, 500);
    });
    return started;
  }
  function redial() {
    if (isWanted) child = dial();
  }
  const isRunning = () => child.exitCode === null && child.signalCode === null && child.pid !== undefined;
  const end = async (signal: NodeJS.Signals) => {
    isWanted = false;
    if (!isRunning()) return;
    const exit = once(child, 'exit');
    child.kill(signal);
    const hardStop = setTimeout(() => child.kill('SIGKILL'), 5000);
    await exit;
    clearTimeout(hardStop);
  };
  return {
    get log() {
      return printed.join('');
    },
    get isRunning() {
      return isRunning();
    },
    async ended(options) {
      await until(`ffmpeg to end (it printed: ${printed.join('')})`, () => !isRunning(), options);
    },
    kill: () => end('SIGKILL'),
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    stop: () => end('SIGINT'),
    [Symbol.asyncDispose]: () => end('SIGKILL'),
  };
}

/**
 * Lets ffmpeg decode `seconds` of a playlist as a player would: how many pictures, how many seconds of media, and
 * every line it printed as an error. `paced`: not faster than it plays.
 */
export async function readHls(
  url: string,
  options: { seconds: number; paced?: boolean },
): Promise<{ frames: number; seconds: number; errors: string[] }> {
  const child = spawn(
    'ffmpeg',
    [
      ...['-hide_banner', '-nostdin', '-nostats', '-loglevel', 'error', '-progress', 'pipe:1'],
      ...(options.paced ? ['-re'] : []),
      // The stream's own time base: RTMP times are whole milliseconds, and rounded to 1/30 s two pictures can coincide.
      ...['-t', String(options.seconds), '-i', url, '-fps_mode', 'passthrough', '-enc_time_base:v', '-1'],
      ...['-f', 'null', '-'],
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const limit = setTimeout(() => child.kill('SIGKILL'), options.seconds * 1000 + 30_000);
  let progress = '';
  let complaints = '';
  child.stdout.on('data', (chunk) => (progress += chunk));
  child.stderr.on('data', (chunk) => (complaints += chunk));
  const [code, signal] = await once(child, 'close');
  clearTimeout(limit);
  const errors = complaints.split('\n').filter((line) => line.trim() !== '');
  if (code !== 0) errors.push(`ffmpeg ended with ${code ?? signal}`);
  const last = (name: string) =>
    Number([...progress.matchAll(new RegExp(`^${name}=\\s*(\\d+)`, 'gm'))].at(-1)?.[1] ?? 0);
  return { frames: last('frame'), seconds: last('out_time_us') / 1e6, errors };
}
