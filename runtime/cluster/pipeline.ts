import { pause } from '../../core/base/timing.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { CommitOutcome } from '../../core/ports/store.ts';
import { Changes } from './changes.ts';
import { waitAfter } from './retried.ts';

/** Something that takes effect in its turn: after everything that came before it. */
export interface Turn {
  /** What it writes, if anything. Done again, as the same write, when nobody knows what became of it. */
  readonly write?: () => Promise<CommitOutcome>;
  /** Its write was answered, and everything before it has taken effect. `tries`: how often it was written. */
  settled(outcome: CommitOutcome | undefined, tries: number): void;
  /** The write failed so often. False: it is not to be tried again, and the pipeline has ended. */
  failed?(error: unknown, tries: number): boolean;
}

/**
 * Writes of one partition that go out without waiting for each other and take effect one after the other. When nobody
 * knows what became of one, those behind it wait until it has been written again: each names the place in the log that
 * the one before it leaves, so the store takes none out of order.
 */
export class Pipeline {
  readonly #options: PipelineOptions;
  readonly #turns: Sent[] = [];
  /** A write is to be repeated: until then nothing is written. */
  #isHeld = false;
  #isSettling = false;
  readonly #changes: Changes;

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.#changes = new Changes(options.signal);
  }

  /** Turns that have not taken effect. */
  get size(): number {
    return this.#turns.length;
  }

  /** Resolves when there is a place, or nobody wants one any more. */
  async room(): Promise<void> {
    const { signal, depth } = this.#options;
    while (this.#turns.length >= depth && !signal.aborted) await this.#changes.next();
  }

  /** Resolves when everything has taken effect, or nothing will. */
  async idle(): Promise<void> {
    while (this.#turns.length > 0 && !this.#options.signal.aborted) await this.#changes.next();
  }

  push(turn: Turn): void {
    const sent: Sent = { turn, tries: 0 };
    this.#turns.push(sent);
    if (!this.#isHeld) write(sent);
    if (!this.#isSettling) this.#settle().catch((error: unknown) => this.#options.onBug(error));
  }

  async #settle(): Promise<void> {
    this.#isSettling = true;
    const { signal } = this.#options;
    for (let head = this.#turns[0]; head && !signal.aborted; head = this.#turns[0]) {
      const answer = await head.answer;
      if (signal.aborted) break;
      if (answer && 'error' in answer) {
        if (!(await this.#repeat(head, answer.error))) break;
        continue;
      }
      this.#turns.shift();
      head.turn.settled(answer?.outcome, head.tries);
      this.#changes.happened();
    }
    this.#isSettling = false;
  }

  /** Writes the first turn again, and those behind it that were not written. False: that is of no use. */
  async #repeat(head: Sent, error: unknown): Promise<boolean> {
    const { clock, signal } = this.#options;
    this.#isHeld = true;
    for (const { answer } of [...this.#turns]) await answer;
    if (signal.aborted) return false;
    if (!(head.turn.failed?.(error, head.tries) ?? true)) return false;
    await pause(clock.now() + waitAfter(head.tries), { clock, signal });
    if (signal.aborted) return false;
    this.#isHeld = false;
    for (const sent of this.#turns) if (!sent.isStored) write(sent);
    return true;
  }
}

interface PipelineOptions {
  readonly clock: Clock;
  /** Aborted when nobody wants what is left. */
  readonly signal: AbortSignal;
  /** Turns at one time. */
  readonly depth: number;
  /** What a turn leads to has thrown. */
  onBug(error: unknown): void;
}

interface Sent {
  readonly turn: Turn;
  tries: number;
  /** Never rejects. Undefined where there is nothing to write, or it is held back. */
  answer?: Promise<{ readonly outcome: CommitOutcome } | { readonly error: unknown }>;
  isStored?: boolean;
}

function write(sent: Sent): void {
  if (!sent.turn.write) return;
  sent.tries += 1;
  sent.answer = sent.turn.write().then(
    (outcome) => {
      sent.isStored = outcome.outcome === 'ok';
      return { outcome };
    },
    (error: unknown) => ({ error }),
  );
}
