import type { Answer, FaultData } from './answer.ts';
import { unknownOutcome } from './answer.ts';

/**
 * The ids of the last records of a partition's log, and what they came to. Senders and engines repeat what they are not
 * sure of, so a copy may stand on the log behind the first; whether a record is one depends on the log alone, so that
 * every reading of it comes to the same.
 */
export class KnownCommands {
  readonly #window: number;
  readonly #known = new Map<string, { offset: number; refusal: FaultData | undefined }>();

  constructor(window: number) {
    this.#window = window;
  }

  /** Whether the record is a copy of one before it, not further back than the window. */
  isCopy(id: string, offset: number): boolean {
    const last = this.#known.get(id);
    return last !== undefined && offset - last.offset <= this.#window;
  }

  /** It stands there, and is told next what it came to; a former owner may have answered it. */
  saw(id: string, offset: number): void {
    const known = this.#known.get(id);
    // Deleting first moves it to the end: the map is in the order of the log.
    this.#known.delete(id);
    this.#known.set(id, { offset, refusal: known ? known.refusal : unknownOutcome });
    for (const [oldest, { offset: at }] of this.#known) {
      if (offset - at <= this.#window) return;
      this.#known.delete(oldest);
    }
  }

  answered(id: string, answer: Answer): void {
    const known = this.#known.get(id);
    if (known) known.refusal = 'fault' in answer ? answer.fault : undefined;
  }

  /** What the first one was refused with; undefined when it was not. */
  refusalOf(id: string): FaultData | undefined {
    return this.#known.get(id)?.refusal;
  }
}
