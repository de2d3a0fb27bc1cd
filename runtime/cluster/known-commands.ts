import type { FaultData } from './answer.ts';

/** How far back on the log a command is looked for. A copy that comes later is carried out again, unless it names a cause. */
export const copyWindow = 1000;

/** What a command came to: what it was refused with, if it was. */
export interface KnownCommand {
  readonly refusal: FaultData | undefined;
}

/**
 * The ids of the last records of a partition's log, and what they came to. Senders and engines repeat what they are not
 * sure of, so a copy may stand on the log behind the first; whether a record is one depends on the log alone, so that
 * every reading of it comes to the same.
 */
export class KnownCommands {
  /** In the order of the log. */
  readonly #known = new Map<string, KnownCommand & { readonly offset: number }>();

  /** The command that this record is a copy of, if it is one. */
  find(id: string, offset: number): KnownCommand | undefined {
    const known = this.#known.get(id);
    return known && offset - known.offset <= copyWindow ? known : undefined;
  }

  /** It stands there; a copy counts from here on. */
  add(id: string, offset: number, refusal: FaultData | undefined): void {
    this.#known.delete(id);
    this.#known.set(id, { offset, refusal });
    for (const [oldest, { offset: at }] of this.#known) {
      if (offset - at <= copyWindow) return;
      this.#known.delete(oldest);
    }
  }
}
