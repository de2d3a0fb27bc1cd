import type { Log } from '../../core/base/log.ts';
import { every } from '../../core/base/timing.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Outbox } from '../../core/ports/store.ts';
import type { HandedOn } from './hand-on.ts';
import { clusterLimits } from './limits.ts';

/** The outbox of plain resources, which have no partition. */
const partition = -1;

/**
 * Hands on the events of plain resources: each writer right after its write, and one node looks for what a writer that
 * died has left. Two at one time repeat each other, which is harmless.
 */
export class PlainRelay {
  readonly #options: PlainRelayOptions;
  #isWanted = false;
  #running: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: PlainRelayOptions) {
    this.#options = options;
  }

  /** Looks again and again, from now on until the stop. */
  watch(): () => void {
    this.wake();
    return every(clusterLimits.plainPoll, { clock: this.#options.clock, work: () => this.wake() });
  }

  wake(): void {
    this.#isWanted = true;
    if (this.#running || this.#isStopped) return;
    this.#running = this.#drain()
      .catch((error: unknown) => {
        // Whoever looks next finds it.
        this.#options.log.warn('events of plain resources could not be handed on', { error });
        this.#isWanted = false;
      })
      .finally(() => {
        this.#running = undefined;
        if (this.#isWanted) this.wake();
      });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #drain(): Promise<void> {
    const { outbox, handOn } = this.#options;
    const limit = clusterLimits.relayed;
    while (this.#isWanted && !this.#isStopped) {
      this.#isWanted = false;
      const entries = await outbox.pending(partition, { limit });
      if (entries.length === 0) continue;
      await handOn(entries);
      await outbox.settle(
        partition,
        entries.map(({ number }) => number),
      );
      if (entries.length === limit) this.#isWanted = true;
    }
  }
}

interface PlainRelayOptions {
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly log: Log;
  handOn(entries: readonly HandedOn[]): Promise<void>;
}
