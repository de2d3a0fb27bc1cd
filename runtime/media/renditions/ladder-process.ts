import type { Clock } from '../../../core/ports/clock.ts';
import type { TranscodeTrouble } from '../../../core/ports/transcoder.ts';
import type { FfmpegCommand } from '../ffmpeg/command.ts';
import type { FfmpegEnd, FfmpegProcess } from '../ffmpeg/process.ts';
import type { FfmpegRunner } from '../ffmpeg/runner.ts';
import { type FedPictures, LadderBroken, LadderFull, LadderLost, type LadderRun } from './ladder.ts';
import { maxFrameRate } from './plan.ts';
import {
  endTrouble,
  noMemory,
  refusalTrouble,
  stallTrouble,
  tooSlow,
  unexpected,
  unreadable,
} from './troubles.ts';

/** ms that a process may take for what it was given last, when nothing more comes. */
const tailTimeout = 10_000;

/** How a process ended. Without a trouble: all was fed and all came out (`isWhole`), or it was stopped. */
export interface ProcessEnd {
  readonly isWhole: boolean;
  readonly trouble?: TranscodeTrouble;
  /** It ended by itself before its input was over. */
  readonly end?: FfmpegEnd;
  /** For the log. */
  readonly error?: unknown;
}

/** From the section `renditions` of the config. */
export interface ProcessSettings {
  readonly encoder: string;
  /** 0..19: how much less urgent than the server encoding is. */
  readonly niceness: number;
  /** How long a process may give no picture for what it was given, ms. */
  readonly stall: number;
}

export interface LadderProcessOptions {
  readonly clock: Clock;
  readonly runner: Pick<FfmpegRunner, 'start'>;
  readonly command: FfmpegCommand;
  readonly settings: ProcessSettings;
}

/**
 * One ffmpeg process for one run of a ladder: feeds it media as fast as it reads, and hands its output to the run. It is over when
 * `ended` resolves, which never rejects.
 */
export class LadderProcess {
  readonly ended: Promise<ProcessEnd>;
  readonly #run: LadderRun;
  readonly #options: LadderProcessOptions;
  readonly #rate = new PictureRate();
  /** Aborted when nothing more is fed. */
  readonly #over = new AbortController();
  #child: FfmpegProcess | undefined;
  #isFed = false;
  /** Since when it owes a picture for what it was given, epoch ms. */
  #owesSince: number | undefined;
  #pictures = 0;
  /** Set when it was stopped. */
  #verdict: ProcessEnd | undefined;

  constructor(run: LadderRun, options: LadderProcessOptions) {
    this.#run = run;
    this.#options = options;
    this.ended = this.#live();
  }

  /** Pictures a second of the source as they came; undefined before a second of them. */
  get sourceRate(): number | undefined {
    return this.#rate.value;
  }

  /** Called regularly: stops a process that hangs. */
  look(now: number): void {
    const { stall } = this.#options.settings;
    if (this.#run.pictures > this.#pictures) {
      this.#pictures = this.#run.pictures;
      this.#owesSince = undefined;
    } else if (this.#owesSince !== undefined && now - this.#owesSince > stall) this.stop(stallTrouble(stall));
  }

  /** Kills it. */
  stop(trouble?: TranscodeTrouble, error?: unknown): void {
    this.#verdict ??= { isWhole: false, ...(trouble && { trouble }), error };
    this.#over.abort();
    this.#child?.kill();
  }

  async #live(): Promise<ProcessEnd> {
    const ended = await this.#work().catch((error: unknown): ProcessEnd => {
      this.stop(unexpected, error);
      return { isWhole: false };
    });
    this.#run.end({ isWhole: ended.isWhole });
    return this.#verdict ?? ended;
  }

  async #work(): Promise<ProcessEnd> {
    const { runner, command, settings } = this.#options;
    // The constructor's caller must have it first.
    await Promise.resolve();
    const child = await runner.start({
      ...{ command, niceness: settings.niceness },
      limits: { hasDevice: settings.encoder !== 'libx264' },
      isWanted: () => this.#verdict === undefined,
      handlers: { onOutput: (bytes) => this.#take(bytes) },
    });
    if (!child.ok) return { isWhole: false, trouble: refusalTrouble(child) };
    this.#child = child;
    if (this.#verdict) child.kill();
    const fed = this.#feed(child);
    const end = await child.ended;
    this.#over.abort();
    await fed;
    const isWhole = this.#isFed && end.code === 0 && this.#verdict === undefined;
    return isWhole ? { isWhole } : { isWhole, end, trouble: endTrouble(end, settings) };
  }

  async #feed(child: FfmpegProcess): Promise<void> {
    const { signal } = this.#over;
    try {
      for await (const { bytes, pictures } of this.#run.media(signal)) {
        if (signal.aborted) return;
        if (pictures !== undefined) {
          this.#rate.count(pictures);
          // For sound alone it gives nothing.
          this.#owesSince ??= this.#options.clock.now();
        }
        await child.feed(bytes);
      }
      if (signal.aborted) return;
      this.#isFed = true;
      child.end({ within: tailTimeout });
    } catch (error) {
      this.#failed(error);
    }
  }

  #take(bytes: Uint8Array): void {
    if (this.#verdict) return;
    try {
      this.#run.take(bytes);
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    if (error instanceof LadderLost) this.stop(tooSlow);
    else if (error instanceof LadderFull) this.stop(noMemory);
    else if (error instanceof LadderBroken) this.stop(unreadable, error.message);
    else this.stop(unexpected, error);
  }
}

/** Counts pictures in each second of their timeline: the frame rate that an encoder claims may be wrong. */
class PictureRate {
  /** Where the second that is being counted begins; undefined: at the next picture. */
  #since: number | undefined;
  #count = 0;
  #last: number | undefined;

  count({ count, start, end }: FedPictures): void {
    this.#since ??= start;
    this.#count += count;
    const seconds = end - this.#since;
    if (seconds < 1) return;
    this.#last = this.#count / seconds;
    this.#since = end;
    this.#count = 0;
  }

  /** Pictures a second, undefined before a whole second. A second in progress counts once it has more. */
  get value(): number | undefined {
    if (this.#last === undefined) return this.#count > maxFrameRate ? this.#count : undefined;
    return Math.max(this.#last, this.#count);
  }
}
