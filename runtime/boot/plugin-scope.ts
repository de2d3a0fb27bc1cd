import type { EventFeed } from '../../core/plugin/events.ts';
import type { Clock } from '../../core/ports/clock.ts';

/** Timers or listeners of one plugin, from which on it looks like a leak: each open event stream has one of both. */
const many = 100_000;

/**
 * What one plugin holds through its kit: timers, listeners and its signal. What they throw is the plugin's, and a plugin that
 * is switched off loses them.
 */
export class PluginScope {
  readonly clock: Clock;
  readonly events: EventFeed;
  readonly #ending = new AbortController();
  /** How each is cancelled. */
  readonly #timers = new Set<() => void>();
  readonly #listeners = new Set<() => void>();

  constructor(options: ScopeOptions) {
    const { clock, events, signal } = options;
    if (signal.aborted) this.#ending.abort(signal.reason);
    else signal.addEventListener('abort', () => this.#ending.abort(signal.reason), { once: true });
    this.clock = {
      now: clock.now,
      at: (due, action) => this.#at(due, { action, options }),
    };
    this.events = {
      after: (position, query) => events.after(position, query),
      before: (position, query) => events.before(position, query),
      position: (id, query) => events.position(id, query),
      subscribe: (listener) => this.#subscribe(listener, options),
    };
  }

  /** Aborted when the program stops, and when the plugin is switched off. */
  get signal(): AbortSignal {
    return this.#ending.signal;
  }

  /** What it holds now. */
  get held(): Held {
    return { timers: this.#timers.size, listeners: this.#listeners.size };
  }

  /** What is wrong with that, for operators. */
  issues(plugin: string): string[] {
    return Object.entries(this.held)
      .filter(([, count]) => count > many)
      .map(([what, count]) => `The plugin ${plugin} has ${count} ${what}: it may leak them.`);
  }

  /** The plugin is to stop. */
  abort(): void {
    this.#ending.abort();
  }

  /** Takes everything from it that it holds; it gets nothing new. */
  end(): void {
    this.#isOver = true;
    for (const cancel of [...this.#timers, ...this.#listeners]) cancel();
  }

  #isOver = false;

  #at(due: number, { action, options }: { action: () => void; options: ScopeOptions }): () => void {
    if (this.#isOver) return () => {};
    const timers = this.#timers;
    const cancelTimer = options.clock.at(due, () => {
      timers.delete(cancel);
      guarded(action, (error) => options.tell('a timer', error));
    });
    const cancel = () => {
      timers.delete(cancel);
      cancelTimer();
    };
    timers.add(cancel);
    return cancel;
  }

  #subscribe(listener: Parameters<EventFeed['subscribe']>[0], options: ScopeOptions): () => void {
    if (this.#isOver) return () => {};
    const listeners = this.#listeners;
    const leave = options.events.subscribe((event) =>
      guarded(
        () => listener(event),
        (error) => options.tell('a listener for events', error),
      ),
    );
    const unsubscribe = () => {
      listeners.delete(unsubscribe);
      leave();
    };
    listeners.add(unsubscribe);
    return unsubscribe;
  }
}

interface Held {
  readonly timers: number;
  readonly listeners: number;
}

interface ScopeOptions {
  readonly clock: Clock;
  readonly events: EventFeed;
  /** Aborted when the program stops. */
  readonly signal: AbortSignal;
  /** @param where what failed, in a few words */
  tell(where: string, error: unknown): void;
}

/** Calls what a plugin gave. What it throws, also later, goes to `failed`. */
function guarded(call: () => unknown, failed: (error: unknown) => void): void {
  try {
    const result = call();
    if (result instanceof Promise) result.catch(failed);
  } catch (error) {
    failed(error);
  }
}
