import type { Log } from '../../core/base/log.ts';
import type { Metrics } from '../../core/base/metrics.ts';
import type { Clock } from '../../core/ports/clock.ts';

/** One line in the log for each place of a plugin in so many ms: what fails for each request would fill it. */
const logInterval = 60_000;
/** How long operators are told of what failed, ms, if it does not fail again. */
const toldFor = 600_000;

/** Errors of plugins that no call is answered with: where something was left out, or the error came from nowhere. */
export class PluginTroubles {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #places = new Map<string, Place>();

  constructor({ clock, log }: { clock: Clock; log: Log }) {
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * @param plugin undefined where it cannot be told
   * @param options.where what failed, in a few words of the program: `a timer`
   */
  tell(plugin: string | undefined, { where, error }: { where: string; error: unknown }): void {
    const now = this.#clock.now();
    const key = `${plugin} ${where}`;
    const place = this.#places.get(key) ?? {
      ...{ plugin, where, count: 0, unsaid: 0 },
      ...{ loggedAt: Number.NEGATIVE_INFINITY, lastAt: now },
    };
    this.#places.set(key, place);
    place.count += 1;
    place.lastAt = now;
    if (now - place.loggedAt < logInterval) {
      place.unsaid += 1;
      return;
    }
    const unsaid = place.unsaid > 0 && { unsaid: place.unsaid };
    this.#log.error('a plugin failed; the rest goes on', { plugin, where, error, ...unsaid });
    Object.assign(place, { loggedAt: now, unsaid: 0 });
  }

  /** For operators, without details: everyone may read them. */
  get issues(): string[] {
    const since = this.#clock.now() - toldFor;
    return [...this.#places.values()]
      .filter(({ lastAt }) => lastAt > since)
      .map(({ plugin, where }) =>
        plugin === undefined
          ? `Something fails: ${where}. The log says how.`
          : `The plugin ${plugin} fails: ${where}. The log says how.`,
      );
  }

  measure(metrics: Metrics): void {
    metrics.readings('millrace_plugin_errors_total', {
      help: 'Errors of plugins that no request, job or reaction failed with, by plugin and place.',
      read: () =>
        [...this.#places.values()].map(({ plugin, where, count }) => ({
          ...{ labels: { plugin: plugin ?? 'unknown', where }, value: count },
        })),
    });
  }
}

interface Place {
  readonly plugin: string | undefined;
  readonly where: string;
  count: number;
  /** Errors since the last line in the log. */
  unsaid: number;
  loggedAt: number;
  lastAt: number;
}
