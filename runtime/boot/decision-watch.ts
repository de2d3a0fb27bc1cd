import type { Log } from '../../core/base/log.ts';
import type { Counter, Metrics } from '../../core/base/metrics.ts';
import type { Decider, DecisionKind, OnError } from '../../core/plugin/decide.ts';
import type { Clock } from '../../core/ports/clock.ts';

/** Between two log lines about the same decider, and for how long a failure is shown to operators, ms. */
const recent = 60_000;

const outcomes = ['allowed', 'refused', 'failed'] as const;

/** Counts what deciders of plugins answer, and watches them for failures. */
export class DecisionWatch {
  readonly #options: { clock: Clock; log: Log };
  readonly #counts: ReturnType<Metrics['counter']>;
  readonly #deciders: Watched[] = [];

  constructor({ clock, log, metrics }: { clock: Clock; log: Log; metrics: Metrics }) {
    this.#options = { clock, log };
    this.#counts = metrics.counter(
      'millrace_decisions_total',
      'Answers of plugins that decide, by kind, outcome and plugin. `failed`: it threw, took too long or answered nonsense.',
    );
  }

  /** What hears of each outcome of one decider. */
  of(plugin: string, { kind, onError }: { kind: DecisionKind; onError: OnError }): Decider<never>['note'] {
    const counters = Object.fromEntries(
      outcomes.map((outcome) => [outcome, this.#counts.with({ kind, outcome, plugin })]),
    ) as Record<(typeof outcomes)[number], Counter>;
    const watched: Watched = { plugin, kind, onError, failedAt: -Infinity, loggedAt: -Infinity, unlogged: 0 };
    this.#deciders.push(watched);
    return (outcome, error) => {
      counters[outcome].add();
      if (outcome === 'failed') this.#failed(watched, error);
    };
  }

  /** For operators, without ids: everyone may read them. */
  get issues(): string[] {
    const now = this.#options.clock.now();
    return this.#deciders
      .filter(({ failedAt }) => failedAt + recent > now)
      .map(
        ({ plugin, kind, onError }) =>
          `The plugin ${plugin} fails to decide about ${subjects[kind]}: ${onError === 'allow' ? 'they are allowed without it' : 'they are refused'}. The log says why.`,
      );
  }

  #failed(watched: Watched, error: unknown): void {
    const { clock, log } = this.#options;
    const now = clock.now();
    watched.failedAt = now;
    watched.unlogged += 1;
    if (watched.loggedAt + recent > now) return;
    const { plugin, kind, onError, unlogged: failures } = watched;
    log.error('a plugin failed to decide', { plugin, kind, countsAs: onError, failures, error });
    watched.loggedAt = now;
    watched.unlogged = 0;
  }
}

const subjects: Readonly<Record<DecisionKind, string>> = {
  publish: 'broadcasts',
  play: 'playback',
  upload: 'uploads',
  export: 'exports',
  delivery: 'webhook deliveries',
};

interface Watched {
  readonly plugin: string;
  readonly kind: DecisionKind;
  readonly onError: OnError;
  /** Epoch ms. */
  failedAt: number;
  loggedAt: number;
  /** Failures since the last line in the log. */
  unlogged: number;
}
