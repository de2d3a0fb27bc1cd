import type { Clock } from '../../../core/ports/clock.ts';
import { type hiddenFile, hiddenPath } from './hidden-file.ts';
import type { FfmpegLimits } from './limits.ts';
import { type FfmpegEnd, startProcess } from './process.ts';

/** What is known of the ffmpeg of this machine. */
export interface FfmpegAbout extends FfmpegFound {
  /**
   * Whether it takes options of protocols from a file. False: it was seen not to, and what is hidden is in its command line.
   * Undefined: it could not be asked for now, and is given nothing that is hidden.
   */
  readonly hides: boolean | undefined;
}

/** What it says of itself. */
export interface FfmpegFound {
  /** Where it is. */
  readonly path: string;
  /** As it says itself: `5.1.9-0+deb12u1`, `n7.1`, `N-117000-g…`. */
  readonly version: string;
  /** Of its libavformat, as one number to compare: `libavformat(60, 16)`. Builds without a version have that too. */
  readonly libavformat: number;
  /** Protocols that it can write to. */
  readonly protocols: ReadonlySet<string>;
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
}): Promise<FfmpegFound | undefined> {
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
    return {
      ...{ path, guard, version: version[1] },
      libavformat: libavformat(Number(library[1]), Number(library[2])),
      protocols: new Set(names.map((name) => name.trim())),
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
 * the file, and forgets what it read: it goes on to its target, of which it says that nobody is there. Undefined: neither was
 * seen, because there was no memory, file or time for it.
 */
export async function doesHide(
  { guard, path, protocols }: FfmpegFound,
  options: Asking & { hide: typeof hiddenFile },
): Promise<boolean | undefined> {
  if (!protocols.has('srt')) return false;
  const file = await options.hide('pkt_size=99999\n').catch(() => undefined);
  if (!file) return undefined;
  try {
    const input = ['-hide_banner', '-nostdin', '-loglevel', 'error', '-f', 's16le', '-i', 'pipe:0'];
    const output = ['-connect_timeout', '50', '-f', 's16le', 'srt://127.0.0.1:9'];
    const command = [guard, path, input, '-c', 'copy', '-fpre', hiddenPath, output].flat();
    const { end } = await ask(command, options, file.fd);
    if (end?.code === undefined || shortage.test(end.errors)) return undefined;
    if (/pkt_size/.test(end.errors)) return true;
    return /\bsrt:\/\//.test(end.errors) ? false : undefined;
  } finally {
    await file.close();
  }
}

/** What the system says when it has no more of something (strerror(3)). */
const shortage =
  /cannot allocate memory|too many open files|no space left|no buffer space|resource temporarily unavailable/i;

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
