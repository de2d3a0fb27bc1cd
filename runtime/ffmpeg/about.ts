import type { Clock } from '../../core/ports/clock.ts';
import type { FfmpegLimits } from './limits.ts';
import { startProcess } from './process.ts';

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
    const about = await ask([...guard, path, '-hide_banner', '-version'], options);
    const version = /^ffmpeg version (\S+)/m.exec(about ?? '');
    const library = /^libavformat\s+(\d+)\.\s*(\d+)\./m.exec(about ?? '');
    if (!version || !library) continue;
    const protocols = await ask([...guard, path, '-hide_banner', '-protocols'], options);
    if (protocols === undefined) continue;
    return {
      ...{ path, guard, version: version[1] },
      libavformat: libavformat(Number(library[1]), Number(library[2])),
      protocols: new Set(
        protocols
          .split(/^Output:$/m)[1]
          ?.match(/^ {2}\S+$/gm)
          ?.map((name) => name.trim()),
      ),
    };
  }
  return undefined;
}

/** What it answers; undefined when it fails, says too much or takes too long. */
async function ask(
  command: readonly string[],
  options: { clock: Clock; limits: FfmpegLimits; env: Readonly<Record<string, string>> },
): Promise<string | undefined> {
  const { limits } = options;
  let text = '';
  try {
    const asked = startProcess({
      ...{ ...options, command, secrets: [] },
      deadline: limits.lookTimeout,
      handlers: {
        onOutput(bytes) {
          text += Buffer.from(bytes).toString('latin1');
          if (text.length > limits.lookBytes) asked.kill();
        },
      },
    });
    const { by, code } = await asked.ended;
    return by === 'itself' && code === 0 ? text : undefined;
  } catch {
    return undefined;
  }
}
