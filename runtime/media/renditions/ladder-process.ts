import type { Clock } from '../../../core/ports/clock.ts';
import type { TranscodeTrouble } from '../../../core/ports/transcoder.ts';
import type { FfmpegCommand } from '../ffmpeg/command.ts';
import type { FfmpegEnd, FfmpegProcess } from '../ffmpeg/process.ts';
import type { FfmpegRefusal, FfmpegRunner } from '../ffmpeg/runner.ts';
import { LadderBroken, LadderFull, LadderLost, type LadderRun } from './ladder.ts';
import { PictureRate } from './picture-rate.ts';
import { noMemory, stallTrouble, tooSlow, unexpected, unreadable } from './troubles.ts';

/**
 * How a process ended. `whole`: all was fed and all came out. `stopped`: by `stop` without a trouble. `refused`: there was none.
 * `itself`: before its input was over.
 */
export type ProcessEnd =
  | { readonly by: 'whole' }
  | { readonly by: 'stopped' }
  | { readonly by: 'refused'; readonly refusal: FfmpegRefusal }
  | { readonly by: 'itself'; readonly end: FfmpegEnd }
  | { readonly by: 'us'; readonly trouble: TranscodeTrouble; readonly error?: unknown };

export interface LadderProcessOptions {
  readonly clock: Clock;
  readonly runner: Pick<FfmpegRunner, 'start'>;
  readonly command: FfmpegCommand;
  readonly niceness: number;
  /** How long it may give no picture for what it was given, ms. */
  readonly stall: number;
  /** How long it may take for what is left when nothing more is fed, ms. */
  readonly tail: number;
  /** Most pictures a second that a source may have. */
  readonly frameRate: number;
}

/**
 * One process of ffmpeg for one run of a ladder: hands it media as fast as it takes it, and what it writes to the run. It is over
 * when `ended` is kept; that never fails. Nothing is held back for it: what it does not take yet is not asked for.
 */
export class LadderProcess {
  readonly ended: Promise<ProcessEnd>;
  readonly #run: LadderRun;
  readonly #options: LadderProcessOptions;
  readonly #rate: PictureRate;
  /** Aborted when nothing more is fed. */
  readonly #over = new AbortController();
  #child: FfmpegProcess | undefined;
  #isFed = false;
  #onRoom = () => {};
  /** Since when it owes a picture for what it was given, epoch ms. */
  #owesSince: number | undefined;
  #pictures = 0;
  #verdict: Extract<ProcessEnd, { by: 'us' | 'stopped' }> | undefined;

  constructor(run: LadderRun, options: LadderProcessOptions) {
    this.#run = run;
    this.#options = options;
    this.#rate = new PictureRate(options.frameRate);
    this.ended = this.#live();
  }

  /** Pictures a second of the source as they came; undefined before a second of them. */
  get sourceRate(): number | undefined {
    return this.#rate.value;
  }

  /** Called again and again: sees whether it still works. */
  look(now: number): void {
    const { stall } = this.#options;
    if (this.#run.pictures > this.#pictures) {
      this.#pictures = this.#run.pictures;
      this.#owesSince = undefined;
    } else if (this.#owesSince !== undefined && now - this.#owesSince > stall) this.stop(stallTrouble(stall));
  }

  /** Kills it. */
  stop(trouble?: TranscodeTrouble, error?: unknown): void {
    this.#verdict ??= trouble ? { by: 'us', trouble, error } : { by: 'stopped' };
    this.#over.abort();
    this.#onRoom();
    this.#child?.kill();
  }

  async #live(): Promise<ProcessEnd> {
    const ended = await this.#work().catch((error: unknown): ProcessEnd => {
      this.stop(unexpected, error);
      return this.#verdict as ProcessEnd;
    });
    this.#run.end({ isWhole: ended.by === 'whole' });
    return ended;
  }

  async #work(): Promise<ProcessEnd> {
    const { runner, command, niceness } = this.#options;
    // Whoever made it has nothing of it yet.
    await Promise.resolve();
    const child = await runner.start({
      ...{ command, niceness },
      isWanted: () => this.#verdict === undefined,
      handlers: { onOutput: (bytes) => this.#take(bytes), onDrain: () => this.#onRoom() },
    });
    if (!child.ok) return this.#verdict ?? { by: 'refused', refusal: child };
    this.#child = child;
    if (this.#verdict) child.kill();
    const fed = this.#feed(child);
    const end = await child.ended;
    this.#over.abort();
    this.#onRoom();
    await fed;
    if (this.#verdict) return this.#verdict;
    return this.#isFed && end.code === 0 ? { by: 'whole' } : { by: 'itself', end };
  }

  async #feed(child: FfmpegProcess): Promise<void> {
    const { signal } = this.#over;
    try {
      for await (const { bytes, pictures } of this.#run.media(signal)) {
        if (signal.aborted) return;
        if (pictures !== undefined) {
          this.#rate.count(pictures);
          // Of sound alone it gives nothing.
          this.#owesSince ??= this.#options.clock.now();
        }
        await this.#write(child, bytes);
      }
      if (signal.aborted) return;
      this.#isFed = true;
      child.end({ within: this.#options.tail });
    } catch (error) {
      this.#failed(error);
    }
  }

  async #write(child: FfmpegProcess, piece: Uint8Array): Promise<void> {
    for (let at = 0; ; ) {
      at += child.write(piece.subarray(at));
      if (at >= piece.length || this.#over.signal.aborted) return;
      await new Promise<void>((resolve) => {
        this.#onRoom = resolve;
      });
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
