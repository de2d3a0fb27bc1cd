import { access } from 'node:fs/promises';
import type { Log } from '../../../core/base/log.ts';
import { pause } from '../../../core/base/timing.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import { askFfmpeg, doesHide, type FfmpegAbout, type FfmpegFound } from './about.ts';
import type { FfmpegCommand } from './command.ts';
import { hiddenFile } from './hidden-file.ts';
import { type FfmpegLimits, ffmpegLimits } from './limits.ts';
import { killOrphans, markName, ownMark } from './owner.ts';
import { type FfmpegHandlers, type FfmpegProcess, startProcess } from './process.ts';

/** The only way to ffmpeg. Nothing here throws, and nothing happens on the way of the start: it is looked for when it is wanted. */
export interface FfmpegRunner {
  /**
   * What is known of it, looked for at the first call; while it is missing it is looked for again, at most once a minute, and what
   * it could not be asked is asked again after some seconds.
   */
  about(): Promise<FfmpegAbout | undefined>;
  start(order: FfmpegOrder): Promise<FfmpegProcess | FfmpegRefusal>;
  /** Processes that run or are being started. */
  readonly running: number;
  /** Kills all of them; no further one is started. */
  close(): void;
}

export interface FfmpegOrder {
  readonly command: FfmpegCommand;
  readonly handlers: FfmpegHandlers;
  /** 0..19: how much less urgent than the server it is. Default 0. */
  readonly niceness?: number;
  /** How long it may run, ms. Default: as long as it takes. */
  readonly deadline?: number;
  /** Asked when its turn has come: false, and it is not started (`unwanted`). */
  isWanted?(): boolean;
}

/**
 * `missing`: there is no ffmpeg. `full`: as many as may run do (`ffmpeg.processes`). `order`: what is hidden holds what cannot be
 * written there. `failed`: the system could not start it. `closed`: the server stops. `unwanted`: see `isWanted`.
 * `unsure`: something is to be hidden, and whether this ffmpeg hides it could not be found out; it is asked again later.
 */
export interface FfmpegRefusal {
  readonly ok: false;
  readonly reason: 'missing' | 'full' | 'order' | 'failed' | 'closed' | 'unwanted' | 'unsure';
}

export interface RunnerOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Of the program; default: the one on the PATH. */
  readonly path?: string;
  /** Most processes at one time. */
  readonly processes?: number;
  readonly limits?: Partial<FfmpegLimits>;
  /** Variables of this process, of which some are handed on. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** How what is hidden is written down. */
  readonly hide?: typeof hiddenFile;
}

/**
 * What a process of ffmpeg gets of our variables. Not FFREPORT, by which it would write its command line into a file, and no
 * proxies.
 */
const handedOn = [
  'PATH',
  'LD_LIBRARY_PATH',
  'DYLD_LIBRARY_PATH',
  'LIBVA_DRIVER_NAME',
  'CUDA_VISIBLE_DEVICES',
];

export function ffmpegRunner(options: RunnerOptions): FfmpegRunner {
  const { clock, log, path, hide = hiddenFile } = options;
  const limits: FfmpegLimits = {
    ...ffmpegLimits,
    ...options.limits,
    ...(options.processes !== undefined && { processes: options.processes }),
  };
  const own = Object.entries(options.env ?? process.env).filter(
    (entry): entry is [string, string] => handedOn.includes(entry[0]) && entry[1] !== undefined,
  );
  const running = new Set<FfmpegProcess>();
  let starting = 0;
  let isClosed = false;
  const closing = new AbortController();
  let mark: Promise<string | undefined> | undefined;
  let looked: Promise<FfmpegAbout | undefined> | undefined;
  let missingSince: number | undefined;
  /** Since when it is not known whether it hides. */
  let unsureSince: number | undefined;
  let hasSaidUnsure = false;
  /** Epoch ms from which on the next one may be started. */
  let nextStart = 0;

  /** The mark comes first: whoever looks for it reads no further. */
  const environment = async () => {
    mark ??= ownMark();
    const value = await mark;
    return { ...(value !== undefined && { [markName]: value }), ...Object.fromEntries(own), LC_ALL: 'C' };
  };

  const look = async (): Promise<FfmpegAbout | undefined> => {
    const found = await askFfmpeg({ path, clock, limits, env: await environment() });
    if (found) {
      const version = found.version.split('-', 1)[0];
      log.info('ffmpeg is used', {
        version,
        srt: found.protocols.has('srt'),
        guarded: found.guard.length > 0,
      });
    } else if (missingSince === undefined) {
      const where =
        path === undefined
          ? 'it is not on the PATH, or does not run'
          : 'it is not at ffmpeg.path, or does not run';
      log.warn('there is no ffmpeg: what needs it is left out, all else works', { reason: where });
    }
    missingSince = found ? undefined : clock.now();
    return found && tryHiding(found);
  };

  /** What was not found out is no answer: who takes it for a no shows secrets to the whole machine, for as long as this process lives. */
  const tryHiding = async (found: FfmpegFound): Promise<FfmpegAbout> => {
    const hides = await doesHide(found, { clock, limits, env: await environment(), hide });
    unsureSince = hides === undefined ? clock.now() : undefined;
    if (hides === undefined && !hasSaidUnsure) {
      hasSaidUnsure = true;
      log.warn('whether ffmpeg hides streamid and passphrase could not be found out: pushes over SRT wait', {
        reason: 'it did not answer, or there is no memory or file for it',
      });
    }
    if (hides === false && found.protocols.has('srt')) {
      log.warn('streamid and passphrase of pushes over SRT are in the list of processes of this machine', {
        reason: 'this ffmpeg takes them from its command line alone; 5.1 does not',
      });
    }
    return { ...found, hides };
  };

  const about = (): Promise<FfmpegAbout | undefined> => {
    if (missingSince !== undefined && clock.now() - missingSince >= limits.lookAgain) looked = undefined;
    if (unsureSince !== undefined && clock.now() - unsureSince >= limits.askAgain) {
      // Whoever comes meanwhile waits for the same answer.
      unsureSince = undefined;
      looked = looked?.then((found) => found && tryHiding(found));
    }
    looked ??= look();
    return looked;
  };

  /** One that was removed since is missing. */
  const aboutNow = async (): Promise<FfmpegAbout | undefined> => {
    const asked = about();
    const found = await asked;
    if (!found || (await isThere(found.path))) return found;
    if (looked === asked) looked = undefined;
    return about();
  };

  const turn = async () => {
    const at = Math.max(clock.now(), nextStart);
    nextStart = at + limits.startPause;
    if (at > clock.now()) await pause(at, { clock, signal: closing.signal });
  };

  const begin = async (order: FfmpegOrder): Promise<FfmpegProcess | FfmpegRefusal> => {
    const found = await aboutNow();
    if (!found) return refusal('missing');
    const { argumentsOf, hiddenText } = await import('./command.ts');
    const hiddenOptions = order.command.output.hidden ?? {};
    const text = hiddenText(hiddenOptions);
    if (text === undefined) return refusal('order');
    if (order.command.output.hidden && found.hides === undefined) return refusal('unsure');
    const hides = found.hides ?? true;
    const env = await environment();
    await turn();
    if (order.isWanted?.() === false) return refusal('unwanted');
    const file = hides && order.command.output.hidden ? await hide(text) : undefined;
    try {
      if (isClosed) return refusal('closed');
      return startProcess({
        ...{ clock, limits, env, handlers: order.handlers },
        command: [...found.guard, found.path, ...argumentsOf(order.command, { hides })],
        secrets: Object.values(hiddenOptions).filter((value) => typeof value === 'string'),
        ...(file && { hidden: file.fd }),
        ...(order.niceness !== undefined && { niceness: order.niceness }),
        ...(order.deadline !== undefined && { deadline: order.deadline }),
      });
    } finally {
      await file?.close();
    }
  };

  const cancelSweep = clock.at(clock.now() + limits.sweepDelay, async () => {
    const killed = await killOrphans();
    if (killed > 0)
      log.warn('processes of ffmpeg that a killed server left behind were killed', { processes: killed });
  });

  return {
    about: aboutNow,
    async start(order) {
      if (isClosed) return refusal('closed');
      if (running.size + starting >= limits.processes) return refusal('full');
      starting += 1;
      try {
        const started = await begin(order);
        if (!started.ok) return started;
        running.add(started);
        void started.ended.then(() => running.delete(started));
        return started;
      } catch (error) {
        // Only what it is called: the message of a failed start holds the command line.
        log.warn('ffmpeg could not be started', { code: (error as NodeJS.ErrnoException).code ?? 'unknown' });
        return refusal('failed');
      } finally {
        starting -= 1;
      }
    },
    get running() {
      return running.size + starting;
    },
    close() {
      isClosed = true;
      closing.abort();
      cancelSweep();
      for (const one of running) one.kill();
    },
  };
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function refusal(reason: FfmpegRefusal['reason']): FfmpegRefusal {
  return { ok: false, reason };
}
