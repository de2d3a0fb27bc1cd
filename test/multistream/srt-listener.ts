import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';

/** ffmpeg as somebody else's SRT server: it takes one connection and writes what comes into an MPEG-TS file. */
export interface SrtListener extends AsyncDisposable {
  readonly log: string;
  /** Waits until what it was sent is over and written. */
  ended(): Promise<void>;
}

/** Whether this machine's ffmpeg can be one. */
export const hasSrt = (spawnSync('ffmpeg', ['-protocols'], { encoding: 'utf8' }).stdout ?? '').includes(
  'srt\n',
);

export function startSrtListener(options: {
  host: string;
  port: number;
  passphrase: string;
  file: string;
}): SrtListener {
  const { host, port, passphrase, file } = options;
  const url = `srt://${host}:${port}?mode=listener&passphrase=${passphrase}`;
  const printed: string[] = [];
  const child: ChildProcess = spawn(
    'ffmpeg',
    [
      '-hide_banner',
      '-nostats',
      '-nostdin',
      '-loglevel',
      'error',
      '-y',
      '-i',
      url,
      '-c',
      'copy',
      '-f',
      'mpegts',
      file,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  child.stderr?.on('data', (chunk) => printed.push(String(chunk)));
  const exit = once(child, 'exit');
  return {
    get log() {
      return printed.join('');
    },
    ended: async () => void (await exit),
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await exit;
    },
  };
}
