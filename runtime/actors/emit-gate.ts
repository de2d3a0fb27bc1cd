import { Fault } from '../../core/base/fault.ts';
import type { Log } from '../../core/base/log.ts';
import type { Counter, Family, Metrics } from '../../core/base/metrics.ts';
import type { Clock } from '../../core/ports/clock.ts';

/** Events that one plugin may emit at once on one node: more than any step of a feature has. */
export const emitBurst = 200;
/** Events a second that it may emit for long: each is a synced write, a row of the log for a day, and webhooks. */
export const emitRate = 50;
/** Emits of one plugin that wait; further ones are refused. The last of them waits 20 s. */
export const maxWaitingEmits = 1000;
/** A plugin that emits too much is reported once in so many ms. */
const reportEvery = 60_000;

/** Slows down a plugin that emits too many events: its emits wait for their turn, in their order. */
export class EmitGate {
  readonly #options: EmitGateOptions;
  readonly #waiting: { go(): void; refuse(error: Error): void }[] = [];
  readonly #waited: Counter;
  readonly #refused: Counter;
  #tokens = emitBurst;
  #filledAt: number;
  #reportedAt = Number.NEGATIVE_INFINITY;
  #cancel: (() => void) | undefined;

  constructor(options: EmitGateOptions) {
    const { clock, metrics, plugin, signal } = options;
    this.#options = options;
    this.#filledAt = clock.now();
    const counts = floodCounts(metrics);
    this.#waited = counts.with({ plugin, outcome: 'waited' });
    this.#refused = counts.with({ plugin, outcome: 'refused' });
    signal.addEventListener('abort', () => this.#end());
  }

  /** Resolves when one more event may be written. Faults: `events.flooded`, `server.stopping` (503). */
  async pass(): Promise<void> {
    if (this.#options.signal.aborted) throw stopping();
    this.#fill();
    if (this.#waiting.length === 0 && this.#tokens >= 1) {
      this.#tokens -= 1;
      return;
    }
    const isFull = this.#waiting.length >= maxWaitingEmits;
    (isFull ? this.#refused : this.#waited).add();
    this.#report();
    if (isFull) throw flooded();
    const turn = Promise.withResolvers<void>();
    this.#waiting.push({ go: turn.resolve, refuse: turn.reject });
    this.#schedule();
    await turn.promise;
  }

  #fill(): void {
    const now = this.#options.clock.now();
    const passed = Math.max(0, now - this.#filledAt);
    this.#tokens = Math.min(emitBurst, this.#tokens + (passed * emitRate) / 1000);
    this.#filledAt = now;
  }

  #schedule(): void {
    if (this.#cancel || this.#waiting.length === 0) return;
    const { clock } = this.#options;
    const wait = Math.max(1, Math.ceil(((1 - this.#tokens) * 1000) / emitRate));
    this.#cancel = clock.at(clock.now() + wait, () => {
      this.#cancel = undefined;
      this.#fill();
      for (; this.#tokens >= 1 && this.#waiting.length > 0; this.#tokens -= 1) this.#waiting.shift()?.go();
      this.#schedule();
    });
  }

  #report(): void {
    const { clock, log } = this.#options;
    const now = clock.now();
    if (now - this.#reportedAt < reportEvery) return;
    this.#reportedAt = now;
    const figures = { waiting: this.#waiting.length, refused: this.#refused.value };
    log.warn(`the plugin emits more than ${emitRate} events a second; its events wait`, figures);
  }

  #end(): void {
    this.#cancel?.();
    for (const { refuse } of this.#waiting.splice(0)) refuse(stopping());
  }
}

/** By plugin and outcome. */
export function floodCounts(metrics: Metrics): Family<Counter> {
  return metrics.counter(
    'millrace_event_floods_total',
    'Events of plugins that emitted too many at once: `waited` were slowed down, `refused` were not written.',
  );
}

interface EmitGateOptions {
  readonly plugin: string;
  readonly clock: Clock;
  /** That of the plugin. */
  readonly log: Log;
  readonly metrics: Metrics;
  /** Aborted when the program begins to stop. */
  readonly signal: AbortSignal;
}

function flooded(): Fault {
  return new Fault('events.flooded', {
    status: 503,
    message: `${maxWaitingEmits} events of this plugin wait already. This one was not written. Emit fewer, or try again.`,
    retryAfter: 20,
  });
}

function stopping(): Fault {
  return new Fault('server.stopping', { status: 503, message: 'The server is stopping. Try again.' });
}
