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
  readonly #started: { name: string; ms: number }[] = [];
  readonly #stops: { name: string; stop: Stop }[] = [];
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

  /** Starts a plugin. Fault `boot.slow` (503) when that takes too long; an error names the plugin. */
  startPlugin<T>(id: string, options: { culprit: string; work: () => Promise<T> }): Promise<T> {
    const { culprit, work } = options;
    return this.start(id, () =>
      within(blamed(`plugin ${culprit} could not be started`, work), {
        ...{ ms: pluginStartLimit, clock: this.#clock },
        late: slow(`starting plugin ${culprit}`, pluginStartLimit),
      }),
    );
  }

  /** `stop` is called when the program stops, before those that were given earlier. */
  atStop(name: string, stop: Stop): void {
    this.#stops.push({ name, stop });
  }

  /** Stops everything in reverse order. A part that fails or hangs is logged, and the others are stopped all the same. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stopAll();
    return this.#stopped;
  }

  /** A line per part; `notes` says in a few words what a part is. */
  lines(notes: Readonly<Record<string, string>>): string[] {
    const width = Math.max(...this.#started.map(({ name }) => name.length));
    return this.#started.map(({ name, ms }, index) => {
      const branch = index === this.#started.length - 1 ? '└─' : '├─';
      const time = `${ms} ms`.padStart(8);
      return `${branch} ${name.padEnd(width)} ${time}  ${notes[name] ?? ''}`.trimEnd();
    });
  }

  async #stopAll(): Promise<void> {
    this.#ending.abort();
    const clock = this.#clock;
    for (let part = this.#stops.pop(); part; part = this.#stops.pop()) {
      const { name, stop } = part;
      const late = slow(`stopping ${name}`, partStopLimit);
      await within((async () => stop())(), { ms: partStopLimit, clock, late }).catch((error: unknown) =>
        this.#log.error('a part did not stop cleanly', { part: name, error }),
      );
    }
  }
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
