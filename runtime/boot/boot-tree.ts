import type { Clock } from '../../core/ports/clock.ts';

/** What was started, in order, and how long each took. */
export class BootTree {
  readonly #clock: Clock;
  readonly #entries: { name: string; ms: number }[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async timed<T>(name: string, work: () => Promise<T>): Promise<T> {
    const began = this.#clock.now();
    const result = await work();
    this.#entries.push({ name, ms: this.#clock.now() - began });
    return result;
  }

  /** One line per part; `notes` says in a few words what a part is. */
  lines(notes: Readonly<Record<string, string>>): string[] {
    const width = Math.max(...this.#entries.map(({ name }) => name.length));
    return this.#entries.map(({ name, ms }, index) => {
      const branch = index === this.#entries.length - 1 ? '└─' : '├─';
      const time = `${ms} ms`.padStart(8);
      return `${branch} ${name.padEnd(width)} ${time}  ${notes[name] ?? ''}`.trimEnd();
    });
  }
}
