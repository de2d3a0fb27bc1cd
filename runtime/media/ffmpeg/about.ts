import type { Clock } from '../../../core/ports/clock.ts';
import { type Confinement, confined } from './confinement.ts';
import { type hiddenFile, hiddenPath } from './hidden-file.ts';
import { type FfmpegEnd, startProcess } from './process.ts';

/** ms for one question to ffmpeg about itself. */
const questionTimeout = 10_000;
/** Bytes of its answer. */
const maxAnswerBytes = 262_144;

/** What is known about the ffmpeg of this machine. */
export interface FfmpegAbout extends FfmpegFound {
  /**
   * Whether it reads protocol options from a file. False: it ignores them, so secrets stand in its command line. Undefined: this could
   * not be tested yet, so it is given no secrets.
   */
  readonly hides: boolean | undefined;
}

/** What it says about itself. */
export interface FfmpegFound extends Confinement {
  /** Where it is. */
  readonly path: string;
  /** Such as `5.1.9-0+deb12u1`, `n7.1`, `N-117000-g…`. */
  readonly version: string;
  /** As one comparable number, `libavformat(60, 16)`. Even builds without a version have it. */
  readonly libavformat: number;
  /** Protocols that it can write to. */
  readonly protocols: ReadonlySet<string>;
}

export function libavformat(major: number, minor: number): number {
  return major * 0x10000 + minor;
}

/** Asks ffmpeg for its version and protocols. Undefined: it is missing or does not answer. */
export async function askFfmpeg(options: {
  /** From the config; default: searched on the PATH. */
  path: string | undefined;
  clock: Clock;
  env: Readonly<Record<string, string>>;
}): Promise<FfmpegFound | undefined> {
  const path = Bun.which(options.path ?? 'ffmpeg', { PATH: options.env.PATH ?? '' });
  if (path === null) return undefined;
  for (const guard of guardsOf(options.env)) {
    const about = await answer([...guard, path, '-hide_banner', '-version'], options);
    const version = /^ffmpeg version (\S+)/m.exec(about ?? '');
    const library = /^libavformat\s+(\d+)\.\s*(\d+)\./m.exec(about ?? '');
    if (!version || !library) continue;
    const protocols = await answer([...guard, path, '-hide_banner', '-protocols'], options);
    if (protocols === undefined) continue;
    const names = protocols.split(/^Output:$/m)[1]?.match(/^ {2}\S+$/gm) ?? [];
    return {
      ...{ path, version: version[1], ...(await confinementOf(path, { ...options, guard })) },
      libavformat: libavformat(Number(library[1]), Number(library[2])),
      protocols: new Set(names.map((name) => name.trim())),
    };
  }
  return undefined;
}

/** The first that works is used. */
function guardsOf(env: Asking['env']): readonly (readonly string[])[] {
  // util-linux on Linux: the kernel kills it when the thread that started it is gone. Other implementations lack the option.
  const setpriv = process.platform === 'linux' ? Bun.which('setpriv', { PATH: env.PATH ?? '' }) : null;
  if (setpriv === null) return [[]];
  const dies = ['--pdeathsig', 'KILL', '--'];
  return [[setpriv, '--no-new-privs', ...dies], [setpriv, ...dies], []];
}

/** What beside the guard works here. */
async function confinementOf(
  path: string,
  { guard, ...options }: Asking & { guard: readonly string[] },
): Promise<Confinement> {
  const which = (name: string) => Bun.which(name, { PATH: options.env.PATH ?? '' }) ?? undefined;
  const shell = which('sh');
  const unshare = process.platform === 'linux' ? which('unshare') : undefined;
  const isolation = unshare === undefined ? [] : [unshare, '--user', '--net', '--'];
  const ways: readonly Confinement[] = [
    { guard, isolation, shell },
    { guard, isolation: [], shell },
    { guard, isolation, shell: undefined },
  ];
  for (const way of ways) {
    const prefix = confined(way, { hasNetwork: false });
    if ((await answer([...prefix, path, '-hide_banner', '-version'], options)) !== undefined) return way;
  }
  return { guard, isolation: [], shell: undefined };
}

interface Asking {
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string>>;
}

/** Undefined if it fails, says too much or takes too long. */
async function answer(command: readonly string[], options: Asking): Promise<string | undefined> {
  const { end, text } = await ask(command, options);
  return end?.code === 0 ? text : undefined;
}

/**
 * Tests whether it obeys options from a file, with one that is invalid for every socket: ffmpeg 5.1 stops there; 9.0 reads the
 * file, ignores it, and then fails to connect. Undefined: neither was seen, for want of memory, a file or time.
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

/** Shortage of a system resource (strerror(3)). */
const shortage =
  /cannot allocate memory|too many open files|no space left|no buffer space|resource temporarily unavailable/i;

/** `end` is undefined if it could not be started. */
async function ask(
  command: readonly string[],
  options: Asking,
  hidden?: number,
): Promise<{ end: FfmpegEnd | undefined; text: string }> {
  const { clock, env } = options;
  let text = '';
  try {
    const asked = startProcess({
      ...{ clock, env, command, secrets: [] },
      ...(hidden !== undefined && { hidden }),
      handlers: {
        onOutput(bytes) {
          text += Buffer.from(bytes).toString('latin1');
          if (text.length > maxAnswerBytes) asked.kill();
        },
      },
    });
    asked.end({ within: questionTimeout });
    return { end: await asked.ended, text };
  } catch {
    return { end: undefined, text };
  }
}
