import { step } from '../../core/plugin/step.ts';
import { timerCause } from '../actors/step-commit.ts';
import { type Timer, TimerQueue, timerRetry } from '../actors/timers.ts';
import { clusterLimits } from './limits.ts';
import { LogTime } from './log-time.ts';
import type { Judge, PartitionParts } from './parts.ts';
import type { Sending, Steps } from './steps.ts';

/**
 * The timers of the actors of a partition, by the time of its log. They are those of the latest states, stored or not: a
 * deadline that was moved must not ring at its old time while the step that moved it is on its way.
 */
export class Deadlines {
  readonly #parts: Pick<PartitionParts, 'types' | 'clock' | 'log' | 'partition'>;
  readonly #judge: Judge;
  readonly #signal: AbortSignal;
  readonly #time = new LogTime();
  readonly #timers: TimerQueue;
  readonly #due = new Set<string>();

  constructor(parts: PartitionParts, { judge, signal }: { judge: Judge; signal: AbortSignal }) {
    this.#parts = parts;
    this.#judge = judge;
    this.#signal = signal;
    this.#timers = new TimerQueue({ clock: this.#time, fire: (actor) => this.#due.add(actor) });
    signal.addEventListener('abort', () => this.#timers.stop(), { once: true });
  }

  get size(): number {
    return this.#timers.size;
  }

  /** One that is stored. */
  arm(timer: Timer): void {
    this.#timers.set(timer);
  }

  /** A step of this actor is on its way. */
  stepped(actor: string, { timers, isDone }: Parameters<NonNullable<Sending['onSent']>>[0]): void {
    if (isDone) this.#timers.forget(actor);
    else for (const { name, due } of timers) this.#timers.set({ actor, name, due });
  }

  /** Runs what is due by then, and by the clock; stops when told that nothing more is to be taken. */
  async runAll(until: number, { steps, isOver }: { steps: Steps; isOver: () => boolean }): Promise<void> {
    const { clock } = this.#parts;
    this.#time.reach(Math.min(until, clock.now()));
    const now = this.#time.now();
    while (this.#due.size > 0 && !isOver()) {
      const some = [...this.#due].slice(0, clusterLimits.prefetch);
      await steps.readAhead(some);
      for (const actor of some) {
        this.#due.delete(actor);
        try {
          await this.run(actor, { until: now, steps });
        } catch (error) {
          this.failed(actor, error);
          this.#timers.retry(actor, { now, at: now + timerRetry });
        }
      }
    }
  }

  /** Time goes in order: what fell due comes before whatever is done with the actor then. */
  async run(actor: string, { until, steps }: { until: number; steps: Steps }): Promise<void> {
    for (let timer = this.#timers.due(actor, until); timer; timer = this.#timers.due(actor, until)) {
      const trouble = `${actor}#${timer.name}@${timer.due}`;
      if (!this.#judge.verdict(trouble)) await this.#fire(timer, { steps, trouble });
      this.#timers.done(timer);
    }
  }

  /** Tells of one that could not be run. Throws when nobody wants it to. */
  failed(actor: string, error: unknown): void {
    this.#signal.throwIfAborted();
    const { log, partition } = this.#parts;
    log.error('a timer could not be run; it is tried again', { partition, actor, error });
  }

  async #fire(timer: Timer, { steps, trouble }: { steps: Steps; trouble: string }): Promise<void> {
    const { actor, name, due } = timer;
    const entry = this.#parts.types.of(actor);
    const state = await steps.state(actor, entry);
    const next = state && step(entry.type, state.snapshot, { type: name, at: due });
    // The actor is gone, or its state does not wait for this timer.
    if (!next) return;
    const { sequence } = state;
    await steps.send(entry, {
      ...{ actor, step: next, at: due, sequence, trouble },
      cause: timerCause(timer, sequence),
      onSent: (sent) => this.stepped(actor, sent),
    });
  }
}
