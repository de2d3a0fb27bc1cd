import type { Log } from '../../../core/base/log.ts';
import { pause } from '../../../core/base/timing.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { LadderReading, TranscodeReason, TranscodeTrouble } from '../../../core/ports/transcoder.ts';
import { Backoff } from '../../base/backoff.ts';
import type { FfmpegRunner } from '../ffmpeg/runner.ts';
import type { Capacity } from './capacity.ts';
import type { Ladder, LadderRun } from './ladder.ts';
import { LadderProcess, type ProcessEnd, type ProcessSettings } from './ladder-process.ts';
import { type EncodingSettings, liveCommand } from './live-command.ts';
import { type Plan, planOf } from './plan.ts';
import { capacityTrouble, processesTrouble, tooSlow, unexpected } from './troubles.ts';

/** A late process that gains so much is catching up: patience begins again. ms */
const catchUp = 1000;
/** First wait after renditions that were too slow, ms: the machine may get rid of other work. */
const slowPause = 15_000;
/** First wait after a process that ended by itself, ms; doubled each time. */
const retryFirst = 250;
/** A process that ran so long resets the waits, ms. */
const steady = 30_000;
/** Longest wait through which a broadcast keeps its capacity, ms. */
const keptThrough = 5000;
/** ms for which viewers must have had all renditions again before the trouble counts as over. */
const calmAfter = 3000;
/** ms until refused renditions are tried again: others may have ended, ffmpeg may be installed, the source may change. */
const lookAgain = 5000;

/** From the section `renditions` of the config; durations in ms. */
export interface TranscodingSettings extends EncodingSettings, ProcessSettings {
  /** How far behind the source a process still keeps up. */
  readonly behind: number;
  /** How long it may be so late without gaining a second. */
  readonly patience: number;
  /** Longest wait before a process is started again. */
  readonly retryMost: number;
}

/** What all ladders of a node share. */
export interface TranscodingHost {
  readonly clock: Clock;
  readonly log: Log;
  readonly runner: Pick<FfmpegRunner, 'start'>;
  readonly random: () => number;
  readonly settings: TranscodingSettings;
  readonly capacity: Capacity;
  /** For metrics. */
  readonly counts: {
    pictures: number;
    /** Processes that replaced a failed one. */
    restarts: number;
    troubles: Partial<Record<TranscodeReason, number>>;
  };
}

/** How an attempt ended that is followed by another one. */
interface Setback extends Pick<ProcessEnd, 'trouble' | 'end'> {
  /** `waiting`: it broke. `refused`: nothing was begun, or could be. */
  readonly state: 'starting' | 'waiting' | 'refused';
  /** ms until the next. */
  readonly wait: number;
}

/** Troubles that another process would meet again at once. */
const refusals: readonly TranscodeReason[] = ['missing', 'processes', 'capacity', 'source', 'memory'];

/**
 * The renditions of one playlist, made by one ffmpeg process at a time. A process that ends, hangs, or is too slow is followed by the
 * next one, which goes on where it stopped as long as the window holds that.
 */
export class Transcoding {
  /** Resolves when there is nothing more to do. */
  readonly ended: Promise<void>;
  readonly #ladder: Ladder;
  readonly #host: TranscodingHost;
  readonly #stop = new AbortController();
  readonly #backoff: Backoff;
  readonly #slowBackoff: Backoff;
  #state: LadderReading['state'] = 'starting';
  #trouble: TranscodeTrouble | undefined;
  #retryAt: number | undefined;
  #process: LadderProcess | undefined;
  #run: LadderRun | undefined;
  #plan: Plan | undefined;
  #startedAt = 0;
  /** Pictures of this run that were counted already. */
  #pictures = 0;
  /** Since when viewers are offered all of them, epoch ms. */
  #backSince: number | undefined;
  /** Where they were when patience began. */
  #late: { readonly since: number; readonly lag: number } | undefined;
  /** Pictures a second of the source as they were counted. */
  #counted: number | undefined;

  constructor(ladder: Ladder, host: TranscodingHost) {
    this.#ladder = ladder;
    this.#host = host;
    const { random, settings } = host;
    this.#backoff = new Backoff({ first: retryFirst, most: settings.retryMost, random });
    this.#slowBackoff = new Backoff({ first: slowPause, most: 8 * slowPause, random });
    this.ended = this.#live();
  }

  get isMaking(): boolean {
    return this.#process !== undefined;
  }

  reading(): LadderReading {
    const { playbackId, profiles, lag } = this.#ladder;
    return {
      ...{ playbackId, state: this.#state, lag },
      renditions: profiles.map(({ name }, index) => ({ name, isListed: this.#ladder.isListed(index) })),
      ...(this.#trouble && { trouble: this.#trouble }),
      ...(this.#retryAt !== undefined && { retryAt: this.#retryAt }),
    };
  }

  stop(): void {
    this.#stop.abort();
    this.#process?.stop();
  }

  /** Called regularly: checks whether renditions come, and in time. */
  look(): void {
    const [process, run] = [this.#process, this.#run];
    if (process === undefined || run === undefined) return;
    const { clock, settings } = this.#host;
    const now = clock.now();
    process.look(now);
    this.#countPictures();
    this.#lookAtSource(process, run);
    if (run.pictures === 0) return;
    const { lag } = this.#ladder;
    if (lag > settings.behind) {
      this.#state = 'behind';
      if (this.#late === undefined || lag <= this.#late.lag - catchUp) this.#late = { since: now, lag };
      else if (now - this.#late.since > settings.patience) process.stop(tooSlow);
      return;
    }
    this.#late = undefined;
    this.#state = 'running';
    // Over only after viewers had all of them for a while, so that a check once a second sees every break.
    if (!this.#ladder.profiles.every((_, index) => this.#ladder.isListed(index))) this.#backSince = undefined;
    else this.#backSince ??= now;
    if (this.#backSince !== undefined && now - this.#backSince >= calmAfter) this.#calm();
  }

  #calm(): void {
    if (this.#trouble === undefined) return;
    const { reason } = this.#trouble;
    this.#trouble = undefined;
    this.#host.log.info('a broadcast has its renditions again', { streamId: this.#ladder.streamId, reason });
  }

  async #live(): Promise<void> {
    const { log, capacity } = this.#host;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      let setback: Setback | undefined;
      try {
        const run = await this.#next(signal);
        if (run === undefined || signal.aborted) {
          run?.end({ isWhole: false });
          break;
        }
        setback = await this.#make(run);
      } catch (error) {
        log.error('renditions could not be begun', { streamId: this.#ladder.streamId, error });
        setback = this.#setback({ trouble: unexpected });
      }
      if (signal.aborted) break;
      if (setback) await this.#sitOut(setback);
    }
    capacity.give(this);
  }

  /** Waits for media. A long wait, such as for an encoder to reconnect, gives the capacity back. */
  async #next(signal: AbortSignal): Promise<LadderRun | undefined> {
    const { clock, capacity } = this.#host;
    const cancel = clock.at(clock.now() + keptThrough, () => capacity.give(this));
    try {
      return await this.#ladder.next(signal);
    } finally {
      cancel();
    }
  }

  /** One run, as far as it goes. Undefined: it is followed by the next at once. */
  async #make(run: LadderRun): Promise<Setback | undefined> {
    const { clock, runner, settings } = this.#host;
    const plan = planOf(run.video, { profiles: this.#ladder.profiles, counted: this.#counted });
    // It was counted for the source before; the next one is counted anew.
    this.#counted = undefined;
    const refusal = 'reason' in plan ? plan : this.#takeCapacity(plan);
    if ('reason' in plan || refusal) {
      run.end({ isWhole: false });
      return this.#setback({ trouble: refusal });
    }
    const process = new LadderProcess(run, {
      ...{ clock, runner, settings },
      command: liveCommand(run, { plan, settings }),
    });
    this.#state = 'starting';
    this.#retryAt = this.#late = this.#backSince = undefined;
    this.#startedAt = clock.now();
    this.#pictures = 0;
    [this.#process, this.#run, this.#plan] = [process, run, plan];
    const end = await process.ended;
    this.#countPictures();
    this.#process = this.#run = this.#plan = undefined;
    this.#state = 'starting';
    return this.#setbackOf(end);
  }

  #setbackOf({ isWhole, trouble, end, error }: ProcessEnd): Setback | undefined {
    const { clock, log } = this.#host;
    const isSteady = clock.now() - this.#startedAt >= steady;
    if (isSteady) {
      this.#backoff.reset();
      this.#slowBackoff.reset();
    }
    if (error !== undefined)
      log.error('renditions of a broadcast broke', { streamId: this.#ladder.streamId, error });
    if (trouble) return this.#setback({ trouble, ...(end && { end }) });
    // A source that restarts again and again does not get a process each time.
    return isWhole && !isSteady ? { state: 'starting', wait: this.#backoff.next() } : undefined;
  }

  #setback(why: Pick<Setback, 'trouble' | 'end'>): Setback {
    const reason = why.trouble?.reason ?? 'broken';
    if (!why.end && refusals.includes(reason)) return { ...why, state: 'refused', wait: lookAgain };
    const backoff = reason === 'slow' ? this.#slowBackoff : this.#backoff;
    return { ...why, state: 'waiting', wait: backoff.next() };
  }

  /** Waits for the next attempt. */
  async #sitOut({ trouble, state, wait, end }: Setback): Promise<void> {
    const { clock, capacity } = this.#host;
    this.#state = state;
    if (trouble) this.#report(trouble, { state, end });
    if (state === 'refused' || wait > keptThrough) capacity.give(this);
    const due = clock.now() + wait;
    if (trouble) this.#retryAt = due;
    await pause(due, { clock, signal: this.#stop.signal });
    this.#retryAt = undefined;
    if (state === 'waiting') this.#host.counts.restarts += 1;
  }

  /** Viewers are not offered them any more. A repeated trouble is logged once. */
  #report(trouble: TranscodeTrouble, { state, end }: Pick<Setback, 'state' | 'end'>): void {
    const { reason, message: why } = trouble;
    const isNews = reason !== this.#trouble?.reason;
    this.#ladder.suspend();
    this.#trouble = trouble;
    const { troubles } = this.#host.counts;
    if (isNews || state === 'waiting') troubles[reason] = (troubles[reason] ?? 0) + 1;
    // A missing ffmpeg is logged once, by the runner.
    if (!isNews || reason === 'missing') return;
    const { streamId } = this.#ladder;
    const { code, signal, errors } = end ?? {};
    this.#host.log.warn('a broadcast has no renditions for now', {
      ...{ streamId, reason, why },
      ...(end && { ffmpeg: { code, signal, errors } }),
    });
  }

  #takeCapacity(plan: Plan): TranscodeTrouble | undefined {
    const { capacity } = this.#host;
    const taken = capacity.take(this, plan.pixelRate);
    if (taken === 'taken') return undefined;
    if (taken === 'processes') return processesTrouble(capacity.processes);
    return capacityTrouble(plan, capacity.limit);
  }

  /** A source with more pictures than it claimed costs more than planned, or may not be transcoded at all. */
  #lookAtSource(process: LadderProcess, run: LadderRun): void {
    const rate = process.sourceRate;
    if (rate === undefined || this.#plan === undefined) return;
    const now = planOf(run.video, { profiles: this.#ladder.profiles, counted: rate });
    if ('reason' in now) this.#counted = rate;
    else if (now.pixelRate <= this.#plan.pixelRate * TOLERANCE) return;
    const trouble = 'reason' in now ? now : this.#takeCapacity(now);
    if (trouble) process.stop(trouble);
    else if (!('reason' in now)) this.#plan = now;
  }

  #countPictures(): void {
    const { pictures } = this.#run ?? { pictures: 0 };
    if (pictures <= this.#pictures) return;
    this.#host.counts.pictures += pictures - this.#pictures;
    this.#pictures = pictures;
  }
}

/** Jitter makes no second exactly as long as the other. */
const TOLERANCE = 1.25;
