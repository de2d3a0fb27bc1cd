import type { Clock } from '../../core/ports/clock.ts';
import { hiddenFile, hiddenPath } from './hidden-file.ts';
import type { FfmpegLimits } from './limits.ts';
import { type FfmpegEnd, startProcess } from './process.ts';

/** What is known of the ffmpeg of this machine. */
export interface FfmpegAbout {
  /** Where it is. */
  readonly path: string;
  /** As it says itself: `5.1.9-0+deb12u1`, `n7.1`, `N-117000-g…`. */
  readonly version: string;
  /** Of its libavformat, as one number to compare: `libavformat(60, 16)`. Builds without a version have that too. */
  readonly libavformat: number;
  /** Protocols that it can write to. */
  readonly protocols: ReadonlySet<string>;
  /** Whether it takes options of protocols from a file. What is hidden is in its command line otherwise. */
  readonly hides: boolean;
  /** What is put in front of it so that it dies with this process; empty where there is no such thing. */
  readonly guard: readonly string[];
}

export function libavformat(major: number, minor: number): number {
  return major * 0x10000 + minor;
}

/** Asks ffmpeg what it is. Undefined: it is not there, or does not answer. */
export async function askFfmpeg(options: {
  /** From the config; otherwise it is looked for on the PATH. */
  path: string | undefined;
  clock: Clock;
  limits: FfmpegLimits;
  env: Readonly<Record<string, string>>;
}): Promise<FfmpegAbout | undefined> {
  const path = Bun.which(options.path ?? 'ffmpeg', { PATH: options.env.PATH ?? '' });
  if (path === null) return undefined;
  // Linux, util-linux: the kernel kills it when the thread that started it is gone. That of others knows no such option.
  const setpriv =
    process.platform === 'linux' ? Bun.which('setpriv', { PATH: options.env.PATH ?? '' }) : null;
  const guards = setpriv === null ? [[]] : [[setpriv, '--pdeathsig', 'KILL', '--'], []];
  for (const guard of guards) {
    const about = await answer([...guard, path, '-hide_banner', '-version'], options);
    const version = /^ffmpeg version (\S+)/m.exec(about ?? '');
    const library = /^libavformat\s+(\d+)\.\s*(\d+)\./m.exec(about ?? '');
    if (!version || !library) continue;
    const protocols = await answer([...guard, path, '-hide_banner', '-protocols'], options);
    if (protocols === undefined) continue;
    const names = protocols.split(/^Output:$/m)[1]?.match(/^ {2}\S+$/gm) ?? [];
    const known = new Set(names.map((name) => name.trim()));
    return {
      ...{ path, guard, version: version[1] },
      libavformat: libavformat(Number(library[1]), Number(library[2])),
      protocols: known,
      hides: known.has('srt') && (await doesHide([...guard, path], options)),
    };
  }
  return undefined;
}

interface Asking {
  readonly clock: Clock;
  readonly limits: FfmpegLimits;
  readonly env: Readonly<Record<string, string>>;
}

/** What it answers; undefined when it fails, says too much or takes too long. */
async function answer(command: readonly string[], options: Asking): Promise<string | undefined> {
  const { end, text } = await ask(command, options);
  return end?.code === 0 ? text : undefined;
}

/**
 * Whether it heeds a hidden option: one that no socket can have makes it stop before it opens one. ffmpeg 5.1 does; 9.0 reads
 * the file, and forgets what it read.
 */
async function doesHide(program: readonly string[], options: Asking): Promise<boolean> {
  const file = await hiddenFile('pkt_size=99999\n').catch(() => undefined);
  if (!file) return false;
  try {
    const nowhere = ['-connect_timeout', '50', '-f', 's16le', 'srt://127.0.0.1:9'];
    const given = [
      '-hide_banner',
      '-nostdin',
      '-loglevel',
      'error',
      '-f',
      's16le',
      '-i',
      'pipe:0',
      '-c',
      'copy',
    ];
    const { end } = await ask([...program, ...given, '-fpre', hiddenPath, ...nowhere], options, file.fd);
    return /pkt_size/.test(end?.errors ?? '');
  } finally {
    await file.close();
  }
}

/** `end` is undefined when it cannot be started. */
async function ask(
  command: readonly string[],
  options: Asking,
  hidden?: number,
): Promise<{ end: FfmpegEnd | undefined; text: string }> {
  const { clock, limits, env } = options;
  let text = '';
  try {
    const asked = startProcess({
      ...{ clock, env, command, secrets: [] },
      // Its deadline is what ends it.
      limits: { ...limits, endTimeout: limits.lookTimeout },
      ...(hidden !== undefined && { hidden }),
      deadline: limits.lookTimeout,
      handlers: {
        onOutput(bytes) {
          text += Buffer.from(bytes).toString('latin1');
          if (text.length > limits.lookBytes) asked.kill();
        },
      },
    });
    // There is nothing for it to read.
    asked.end();
    return { end: await asked.ended, text };
  } catch {
    return { end: undefined, text };
  }
}
