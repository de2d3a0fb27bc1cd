import type { Log } from '../../../core/base/log.ts';
import { pause } from '../../../core/base/timing.ts';
import type { RenditionOptions } from '../../../core/plugin/media.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Ladder, LadderRun, RenditionMaker } from './ladder.ts';

/** Wait after the first failure, ms; it doubles with each that follows. */
const firstWait = 1000;
/** Failures in a row after which a rendition is given up. */
const mostFailures = 5;
/** A run that lasted so long was no failure of the same kind, ms. */
const lasting = 30_000;

export interface PluginEncodingOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly encode: RenditionOptions['encode'];
  /** It failed too often. */
  onGivenUp(): void;
}

/** Lets a plugin make a rendition: hands it one run after another. */
export class PluginEncoding implements RenditionMaker {
  /** Of the publish that runs. */
  encode: RenditionOptions['encode'];
  readonly #options: PluginEncodingOptions;

  constructor(options: PluginEncodingOptions) {
    this.#options = options;
    this.encode = options.encode;
  }

  begin(ladder: Ladder): () => void {
    const stop = new AbortController();
    void this.#work(ladder, stop.signal);
    return () => stop.abort();
  }

  async #work(ladder: Ladder, signal: AbortSignal): Promise<void> {
    const { clock, log, onGivenUp } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      const run = await ladder.next(signal);
      if (run === undefined) return;
      const began = clock.now();
      const error = await this.#run(run, signal);
      if (signal.aborted) return;
      failures = error === undefined || clock.now() - began >= lasting ? 0 : failures + 1;
      if (error === undefined) continue;
      ladder.suspend();
      const isOver = failures === mostFailures;
      log.warn('a plugin failed to make a rendition', {
        streamId: ladder.streamId,
        error,
        isGivenUp: isOver,
      });
      if (isOver) return onGivenUp();
      await pause(clock.now() + firstWait * 2 ** failures, { clock, signal });
    }
  }

  /** Undefined: it made all of the run. */
  async #run(run: LadderRun, ended: AbortSignal): Promise<unknown> {
    const over = new AbortController();
    const signal = AbortSignal.any([ended, over.signal]);
    let isFed = false;
    async function* media(): AsyncGenerator<Uint8Array> {
      for await (const { bytes } of run.media(signal)) yield bytes;
      isFed = true;
    }
    try {
      await this.encode({
        source: run.video,
        from: run.from,
        media: media(),
        write: (bytes) => run.take(bytes),
        signal,
      });
      if (!isFed) throw new Error('it ended before the media was over');
      run.end({ isWhole: true });
      return undefined;
    } catch (error) {
      run.end({ isWhole: false });
      return error;
    } finally {
      over.abort();
    }
  }
}
