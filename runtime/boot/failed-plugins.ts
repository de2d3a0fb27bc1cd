import { Fault } from '../../core/base/fault.ts';
import type { Log } from '../../core/base/log.ts';
import type { Metrics } from '../../core/base/metrics.ts';
import type { PlannedPlugin } from './plan.ts';

/**
 * Plugins that are off because they failed while the program started, and those that need what these provide. The rest goes
 * on without them. Nothing is switched off later.
 */
export class FailedPlugins {
  readonly #plan: readonly PlannedPlugin[];
  readonly #log: Log;
  /** Plugin id → why it is off, as the end of a sentence. */
  readonly #reasons = new Map<string, string>();

  constructor(plan: readonly PlannedPlugin[], { log }: { log: Log }) {
    this.#plan = plan;
    this.#log = log;
  }

  isOff(id: string): boolean {
    return this.#reasons.has(id);
  }

  /** Why it is off, as the end of a sentence: `it could not be started`. */
  reasonOf(id: string): string | undefined {
    return this.#reasons.get(id);
  }

  /**
   * Notes that a plugin failed. Returns it and those that are off with it, in the order in which they are to be stopped.
   *
   * @param options.reason the end of a sentence: `it could not be started`
   */
  add(id: string, { reason, error }: { reason: string; error: unknown }): string[] {
    if (this.#reasons.has(id)) return [];
    this.#reasons.set(id, reason);
    this.#log.error('a plugin is off, because it failed', { plugin: id, reason, error });
    const off = [id];
    // Those that need come after those that provide.
    for (const { plugin } of this.#plan) {
      if (this.#reasons.has(plugin.id) || !this.#needsOneOf(plugin.needs ?? [], off)) continue;
      off.unshift(plugin.id);
      this.#reasons.set(plugin.id, `it needs the plugin ${id}, which failed`);
      this.#log.error('a plugin is off, because it needs one that failed', { plugin: plugin.id, needs: id });
    }
    return off;
  }

  /** The routes of a plugin that is off are not known: they are 404, as those that never were. */
  noteUnknownRoutes(plugin: string, error: unknown): void {
    this.#log.warn('the routes of a plugin that is off are not known', { plugin, error });
  }

  /** What a request is answered with that needs a plugin which is off. Undefined for one that is on. */
  faultOf(id: string): Fault | undefined {
    const reason = this.#reasons.get(id);
    if (reason === undefined) return undefined;
    const message = `The plugin ${id} is off, because ${reason}. The log of the server says why.`;
    return new Fault('plugin.failed', { status: 503, message });
  }

  /** For operators, without details: everyone may read them. */
  get issues(): string[] {
    return [...this.#reasons].map(
      ([id, reason]) =>
        `The plugin ${id} is off, because ${reason}. Fix what the log says about it, and restart the server.`,
    );
  }

  measure(metrics: Metrics): void {
    metrics.readings('millrace_plugins_failed', {
      help: 'Plugins that are off because they, or a plugin that they need, could not be started. Always 1, by plugin.',
      read: () => [...this.#reasons.keys()].map((plugin) => ({ labels: { plugin }, value: 1 })),
    });
  }

  #needsOneOf(needs: readonly { readonly id: string }[], ids: readonly string[]): boolean {
    return this.#plan.some(
      ({ plugin: { id, provides = [] } }) =>
        ids.includes(id) && provides.some((token) => needs.some((need) => need.id === token.id)),
    );
  }
}
