import { access, readdir, readFile } from 'node:fs/promises';
import type { Log } from '../../../core/base/log.ts';
import { pause } from '../../../core/base/timing.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import { fateOf, ownMark, startOf } from '../../base/process-mark.ts';
import { askFfmpeg, doesHide, type FfmpegAbout } from './about.ts';
import type { FfmpegCommand } from './command.ts';
import { confined, type FfmpegLimits } from './confinement.ts';
import { hiddenFile } from './hidden-file.ts';
import { type FfmpegHandlers, type FfmpegProcess, startProcess } from './process.ts';

/** ms between two starts: each blocks the thread that reads sockets for a moment, longer while others start. */
export const startPause = 100;
/** ms until a missing ffmpeg is searched again. */
export const missingFor = 60_000;
/** ms until an ffmpeg is tested again for whether it hides options. It gets no secrets before. */
export const unsureFor = 5000;
/** ms after the start at which processes of a killed server are searched. */
const sweepAfter = 2000;

const mostProcesses = 50;

/** Starts every ffmpeg process. Nothing here throws, and ffmpeg is searched only when it is first needed. */
export interface FfmpegRunner {
  /**
   * What is known about ffmpeg. It is searched at the first call; while it is missing, again at most once a minute.
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
  readonly limits?: FfmpegLimits;
  /** Asked when its turn has come: false, and it is not started (`unwanted`). */
  isWanted?(): boolean;
}

export interface FfmpegRefusal {
  readonly ok: false;
  readonly reason: keyof typeof refusalMessages;
}

/** Why ffmpeg was not started, for people. `unwanted`: see `isWanted`. `unsure`: it is tested again later. */
export const refusalMessages = {
  missing:
    'ffmpeg is not installed on this server, or not where ffmpeg.path says. It is searched again each minute.',
  full: 'Too many ffmpeg processes are running (ffmpeg.processes).',
  order: 'An option cannot be passed to ffmpeg without other users of the machine reading it.',
  failed: 'ffmpeg could not be started.',
  closed: 'The server is stopping.',
  unwanted: 'ffmpeg is not needed any more.',
  unsure: 'It is not known whether this ffmpeg hides the secrets of a URL from other users of the machine.',
} as const;

export interface RunnerOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Of the program; default: the one on the PATH. */
  readonly path?: string;
  /** Most processes at one time. Default: 50. */
  readonly processes?: number;
  /** Default: 2000 ms. Tests put it off, as it kills processes of other tests. */
  readonly sweepDelay?: number;
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
  return new Runner(options);
}

class Runner implements FfmpegRunner {
  readonly #options: RunnerOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #hide: typeof hiddenFile;
  readonly #handedOn: [string, string][];
  readonly #running = new Set<FfmpegProcess>();
  #starting = 0;
  #isClosed = false;
  readonly #closing = new AbortController();
  #mark: Promise<string> | undefined;
  /** The last search, and until when (epoch ms) its result counts. */
  #looked: { about: Promise<FfmpegAbout | undefined>; until: number } | undefined;
  #lastLogged: string | undefined;
  /** Epoch ms of the next allowed start. */
  #nextStart = 0;
  readonly #cancelSweep: () => void;

  constructor(options: RunnerOptions) {
    const { clock, log, hide = hiddenFile, sweepDelay = sweepAfter, env = process.env } = options;
    this.#options = options;
    this.#clock = clock;
    this.#log = log;
    this.#hide = hide;
    this.#handedOn = Object.entries(env).filter(
      (entry): entry is [string, string] => handedOn.includes(entry[0]) && entry[1] !== undefined,
    );
    this.#cancelSweep = clock.at(clock.now() + sweepDelay, async () => {
      const killed = await killOrphans();
      if (killed > 0)
        log.warn('killed ffmpeg processes that a killed server left behind', { processes: killed });
    });
  }

  async about(): Promise<FfmpegAbout | undefined> {
    if (this.#looked === undefined || this.#clock.now() >= this.#looked.until) {
      const entry = { about: this.#look(), until: Number.POSITIVE_INFINITY };
      this.#looked = entry;
      const found = await entry.about;
      if (!found) entry.until = this.#clock.now() + missingFor;
      else if (found.hides === undefined) entry.until = this.#clock.now() + unsureFor;
      return found;
    }
    const asked = this.#looked;
    const found = await asked.about;
    if (!found || (await isThere(found.path))) return found;
    // It was removed since.
    if (this.#looked === asked) this.#looked = undefined;
    return this.about();
  }

  async start(order: FfmpegOrder): Promise<FfmpegProcess | FfmpegRefusal> {
    if (this.#isClosed) return refusal('closed');
    if (this.running >= (this.#options.processes ?? mostProcesses)) return refusal('full');
    this.#starting += 1;
    try {
      const started = await this.#begin(order);
      if (!started.ok) return started;
      this.#running.add(started);
      void started.ended.then(() => this.#running.delete(started));
      return started;
    } catch (error) {
      // Only what it is called: the message of a failed start holds the command line.
      const { code = 'unknown' } = error as NodeJS.ErrnoException;
      this.#log.warn('ffmpeg could not be started', { code });
      return refusal('failed');
    } finally {
      this.#starting -= 1;
    }
  }

  get running(): number {
    return this.#running.size + this.#starting;
  }

  close(): void {
    this.#isClosed = true;
    this.#closing.abort();
    this.#cancelSweep();
    for (const one of this.#running) one.kill();
  }

  /** The mark comes first: that is where killOrphans looks. */
  async #environment(): Promise<Record<string, string>> {
    this.#mark ??= ownMark();
    return { [markName]: await this.#mark, ...Object.fromEntries(this.#handedOn), LC_ALL: 'C' };
  }

  async #look(): Promise<FfmpegAbout | undefined> {
    const env = await this.#environment();
    const { path } = this.#options;
    const clock = this.#clock;
    const found = await askFfmpeg({ path, clock, env });
    // Undefined is no answer: taking it for a no would show secrets in the process list.
    const hides = found && (await doesHide(found, { clock, env, hide: this.#hide }));
    const about = found && { ...found, hides };
    const state = about === undefined ? 'missing' : `${hides}`;
    if (state !== this.#lastLogged) logAbout(this.#log, about, path);
    this.#lastLogged = state;
    return about;
  }

  async #turn(): Promise<void> {
    const at = Math.max(this.#clock.now(), this.#nextStart);
    this.#nextStart = at + startPause;
    if (at > this.#clock.now()) await pause(at, { clock: this.#clock, signal: this.#closing.signal });
  }

  async #begin(order: FfmpegOrder): Promise<FfmpegProcess | FfmpegRefusal> {
    const found = await this.about();
    if (!found) return refusal('missing');
    const { argumentsOf, hiddenText } = await import('./command.ts');
    const hiddenOptions = order.command.output.hidden ?? {};
    const text = hiddenText(hiddenOptions);
    if (text === undefined) return refusal('order');
    if (order.command.output.hidden && found.hides === undefined) return refusal('unsure');
    const hides = found.hides ?? true;
    const env = await this.#environment();
    await this.#turn();
    if (order.isWanted?.() === false) return refusal('unwanted');
    const file = hides && order.command.output.hidden ? await this.#hide(text) : undefined;
    try {
      if (this.#isClosed) return refusal('closed');
      return startProcess({
        ...{ clock: this.#clock, env, handlers: order.handlers },
        command: [
          ...confined(found, { limits: order.limits, hasNetwork: order.command.output.protocol !== 'pipe' }),
          ...[found.path, ...argumentsOf(order.command, { hides })],
        ],
        secrets: Object.values(hiddenOptions).filter((value) => typeof value === 'string'),
        ...(file && { hidden: file.fd }),
        ...(order.niceness !== undefined && { niceness: order.niceness }),
      });
    } finally {
      await file?.close();
    }
  }
}

function logAbout(log: Log, about: FfmpegAbout | undefined, path: string | undefined): void {
  if (!about) {
    const place = path === undefined ? 'on the PATH' : 'at ffmpeg.path';
    log.warn('there is no ffmpeg; features that need it are off', {
      reason: `it is not ${place}, or does not run`,
    });
    return;
  }
  const { version, protocols, guard, isolation, shell, hides } = about;
  const hasSrt = protocols.has('srt');
  log.info('ffmpeg is used', {
    version: version.split('-', 1)[0],
    srt: hasSrt,
    guarded: guard.length > 0,
  });
  const lacks = [
    ...(guard.includes('--no-new-privs') ? [] : ['no-new-privileges (setpriv of util-linux)']),
    ...(shell === undefined ? ['limits of memory, processor time and files (sh)'] : []),
    ...(isolation.length === 0 ? ['a network namespace (unshare of util-linux, user namespaces)'] : []),
  ];
  if (lacks.length > 0) log.warn('ffmpeg is confined less than it could be', { lacks: lacks.join(', ') });
  if (hides === undefined)
    log.warn('pushes over SRT wait: it could not be found out whether ffmpeg hides streamid and passphrase', {
      reason: 'ffmpeg did not answer, or there is no memory or file for the test',
    });
  else if (!hides && hasSrt)
    log.warn('streamid and passphrase of pushes over SRT are visible in the process list of this machine', {
      reason: 'this ffmpeg reads them from its command line only; ffmpeg 5.1 does not',
    });
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

/** A variable of each process that is started here: the mark of its server. So nothing must be stored for a crash. */
const markName = 'MILLRACE_FFMPEG_OF';

/** Kills the processes of servers that are dead (`kill -9`). Only Linux tells the variables of a process. Returns how many. */
export async function killOrphans(): Promise<number> {
  let killed = 0;
  for (const name of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(name)) continue;
    const pid = Number(name);
    const start = await startOf(pid);
    const variables = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
    const owner = variables
      .split('\0')
      .find((one) => one.startsWith(`${markName}=`))
      ?.slice(markName.length + 1);
    if (owner === undefined || (await fateOf(owner)) !== 'dead') continue;
    // Its id may belong to another process by now.
    if ((await startOf(pid)) !== start) continue;
    try {
      process.kill(pid, 'SIGKILL');
      killed += 1;
    } catch {
      // It ended by itself just now.
    }
  }
  return killed;
}
