import type { Log } from '../../core/log.ts';
import type { Clock } from '../../core/ports/clock.ts';
import { askFfmpeg, type FfmpegAbout } from './about.ts';
import type { FfmpegCommand } from './command.ts';
import { hiddenFile } from './hidden-file.ts';
import { type FfmpegLimits, ffmpegLimits } from './limits.ts';
import { killOrphans, markName, ownMark } from './owner.ts';
import { type FfmpegHandlers, type FfmpegProcess, startProcess } from './process.ts';

/** The only way to ffmpeg. Nothing here throws, and nothing happens on the way of the start: it is looked for when it is wanted. */
export interface FfmpegRunner {
  /** What is known of it, looked for at the first call; while it is missing it is looked for again, at most once a minute. */
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
}

/**
 * `missing`: there is no ffmpeg. `full`: as many as may run do (`ffmpeg.processes`). `order`: what is hidden holds what cannot be
 * written there. `failed`: the system could not start it. `closed`: the server stops.
 */
export interface FfmpegRefusal {
  readonly ok: false;
  readonly reason: 'missing' | 'full' | 'order' | 'failed' | 'closed';
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
  const { clock, log, path } = options;
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
  let mark: Promise<string | undefined> | undefined;
  let looked: Promise<FfmpegAbout | undefined> | undefined;
  let missingSince: number | undefined;

  /** The mark comes first: whoever looks for it reads no further. */
  const environment = async () => {
    mark ??= ownMark();
    const value = await mark;
    return { ...(value !== undefined && { [markName]: value }), ...Object.fromEntries(own), LC_ALL: 'C' };
  };

  const look = async (): Promise<FfmpegAbout | undefined> => {
    const about = await askFfmpeg({ path, clock, limits, env: await environment() });
    if (about) {
      const version = about.version.split('-', 1)[0];
      log.info('ffmpeg is used', {
        version,
        srt: about.protocols.has('srt'),
        guarded: about.guard.length > 0,
      });
      if (about.protocols.has('srt') && !about.hides) {
        log.warn('streamid and passphrase of pushes over SRT are in the list of processes of this machine', {
          reason: 'this ffmpeg takes them from its command line alone; 5.1 does not',
        });
      }
    } else if (missingSince === undefined) {
      const where =
        path === undefined
          ? 'it is not on the PATH, or does not run'
          : 'it is not at ffmpeg.path, or does not run';
      log.warn('there is no ffmpeg: what needs it is left out, all else works', { reason: where });
    }
    missingSince = about ? undefined : clock.now();
    return about;
  };

  const about = (): Promise<FfmpegAbout | undefined> => {
    if (missingSince !== undefined && clock.now() - missingSince >= limits.lookAgain) looked = undefined;
    looked ??= look();
    return looked;
  };

  const begin = async (order: FfmpegOrder): Promise<FfmpegProcess | FfmpegRefusal> => {
    const found = await about();
    if (!found) return refusal('missing');
    const { argumentsOf, hiddenText } = await import('./command.ts');
    const hiddenOptions = order.command.output.hidden ?? {};
    const text = hiddenText(hiddenOptions);
    if (text === undefined) return refusal('order');
    const env = await environment();
    const { hides } = found;
    const file = hides && order.command.output.hidden ? await hiddenFile(text) : undefined;
    try {
      if (isClosed) return refusal('closed');
      return startProcess({
        ...{ clock, limits, env, handlers: order.handlers },
        command: [...found.guard, found.path, ...argumentsOf(order.command, found)],
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
    about,
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
      cancelSweep();
      for (const one of running) one.kill();
    },
  };
}

function refusal(reason: FfmpegRefusal['reason']): FfmpegRefusal {
  return { ok: false, reason };
}
