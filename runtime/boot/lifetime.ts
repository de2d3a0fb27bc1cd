import { Fault } from '../../core/base/fault.ts';
import type { Log } from '../../core/base/log.ts';
import { within } from '../../core/base/timing.ts';
import type { Stop } from '../../core/plugin/plugin.ts';
import type { Clock } from '../../core/ports/clock.ts';

/** ms. Jobs may take 4 s; and two parts that hang are both named within the 9 s of a whole stop. */
const partStopLimit = 4_250;
/** ms for the start of one plugin. */
const pluginStartLimit = 10_000;

/** What a program has started, in order, with the time each part took; stops it in reverse order. */
export class Lifetime {
  /** Aborted when the stop begins. */
  readonly signal: AbortSignal;
  readonly #ending = new AbortController();
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #started: Started[] = [];
  readonly #stops: Part[] = [];
  #stopped: Promise<void> | undefined;

  constructor({ clock, log }: { clock: Clock; log: Log }) {
    this.#clock = clock;
    this.#log = log;
    this.signal = this.#ending.signal;
  }

  /** Does one phase of the start, and notes how long it took. */
  async start<T>(name: string, work: () => Promise<T> | T): Promise<T> {
    const began = this.#clock.now();
    const result = await work();
    this.#started.push({ name, ms: this.#clock.now() - began });
    return result;
  }

  /**
   * Starts a plugin, and notes how long it took. Fault `boot.slow` (503) when that takes too long: should it start all the same
   * later, it is stopped then. An error names the plugin.
   */
  async startPlugin(
    id: string,
    options: { culprit: string; work: () => Promise<Stop | undefined> },
  ): Promise<void> {
    const { culprit, work } = options;
    const log = this.#log;
    const began = this.#clock.now();
    let isLate = false;
    const starting = blamed(`plugin ${culprit} could not be started`, work).then(async (stop) => {
      if (isLate) await stop?.();
      else if (stop) this.atStop(`plugin ${culprit}`, stop, id);
    });
    const late = slow(`starting plugin ${culprit}`, pluginStartLimit);
    try {
      await within(starting, {
        ...{ ms: pluginStartLimit, clock: this.#clock },
        late() {
          isLate = true;
          starting.catch((error: unknown) =>
            log.warn('a plugin that is off did not end cleanly', { plugin: id, error }),
          );
          return late();
        },
      });
    } finally {
      this.#started.push({ name: id, ms: this.#clock.now() - began, isPlugin: true });
    }
  }

  /** How long the start of a plugin took, ms; undefined for one that was not started. */
  startOf(id: string): number | undefined {
    return this.#started.find(({ name, isPlugin }) => isPlugin && name === id)?.ms;
  }

  /** A plugin is off; why, for `lines`. */
  noteOff(id: string, why: string): void {
    const line = this.#started.find(({ name }) => name === id);
    if (line) line.off = why;
    else this.#started.push({ name: id, ms: 0, off: why });
  }

  /** `stop` is called when the program stops, before those that were given earlier; or when the plugin is stopped that it is of. */
  atStop(name: string, stop: Stop, plugin?: string): void {
    this.#stops.push({ name, stop, plugin });
  }

  /** Stops what was started of one plugin, in reverse order. */
  async stopPlugin(id: string): Promise<void> {
    const own = this.#stops.filter(({ plugin }) => plugin === id);
    for (const part of own.reverse()) {
      this.#stops.splice(this.#stops.indexOf(part), 1);
      await this.#stop(part);
    }
  }

  /** Stops everything in reverse order. A part that fails or hangs is logged, and the others are stopped all the same. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stopAll();
    return this.#stopped;
  }

  /** A line per part; `notes` says in a few words what a part is. */
  lines(notes: Readonly<Record<string, string>>): string[] {
    const width = Math.max(...this.#started.map(({ name }) => name.length));
    return this.#started.map(({ name, ms, off }, index) => {
      const branch = index === this.#started.length - 1 ? '└─' : '├─';
      const time = `${ms} ms`.padStart(8);
      const note = off === undefined ? (notes[name] ?? '') : `OFF: ${off}`;
      return `${branch} ${name.padEnd(width)} ${time}  ${note}`.trimEnd();
    });
  }

  async #stopAll(): Promise<void> {
    this.#ending.abort();
    for (let part = this.#stops.pop(); part; part = this.#stops.pop()) await this.#stop(part);
  }

  async #stop({ name, stop }: Part): Promise<void> {
    const late = slow(`stopping ${name}`, partStopLimit);
    const clock = this.#clock;
    await within((async () => stop())(), { ms: partStopLimit, clock, late }).catch((error: unknown) =>
      this.#log.error('a part did not stop cleanly', { part: name, error }),
    );
  }
}

interface Started {
  readonly name: string;
  readonly ms: number;
  readonly isPlugin?: true;
  /** Why it is off after all. */
  off?: string;
}

interface Part {
  readonly name: string;
  readonly stop: Stop;
  /** The plugin that it is of. */
  readonly plugin: string | undefined;
}

/** An error of `work` says first what could not be done. */
export async function blamed<T>(what: string, work: () => Promise<T> | T): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // A Fault says itself what is wrong and what to do.
    if (error instanceof Fault) throw error;
    const { message, stack } = error instanceof Error ? error : new Error(String(error));
    const blaming = new Error(`${what}: ${message}`, { cause: error });
    blaming.stack = `${blaming.message}\n${stack}`;
    throw blaming;
  }
}

function slow(what: string, limit: number): () => Fault {
  return () => new Fault('boot.slow', { status: 503, message: `${what} took longer than ${limit / 1000} s` });
}
