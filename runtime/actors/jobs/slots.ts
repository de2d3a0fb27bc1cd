import { Fault } from '../../../core/base/fault.ts';
import type { Wanted } from '../../../core/plugin/step.ts';
import type { JobWrite } from '../../../core/ports/jobs.ts';
import type { JobKind } from './kind.ts';

/** Bytes of the input of a job as JSON. */
const maxInput = 262_144;

/** The slots of one kind of job in this process. */
export interface Slots {
  readonly kind: JobKind;
  /** Slots in use: by a running job, or by a claim on its way. */
  taken: number;
  /** Unfinished jobs, as far as this process knows. */
  unfinished: number;
  /** There may be jobs that are ready and have no slot. */
  isBehind: boolean;
}

/** The slots of all kinds; they decide which jobs a step may add. */
export class SlotTable {
  readonly #slots: ReadonlyMap<string, Slots>;

  constructor(kinds: readonly JobKind[]) {
    this.#slots = new Map(
      kinds.map((kind) => [kind.kind, { kind, taken: 0, unfinished: 0, isBehind: true }]),
    );
  }

  get all(): readonly Slots[] {
    return [...this.#slots.values()];
  }

  find(kind: string): Slots | undefined {
    return this.#slots.get(kind);
  }

  of(kind: string): Slots {
    const slots = this.#slots.get(kind);
    if (!slots) throw new Error(`no enabled plugin declares the effect ${kind}`);
    return slots;
  }

  /**
   * The jobs of a step as they are to be added. Throws `jobs.input_too_large` and `jobs.full`.
   * `isResult`: they follow from a job that ends, so they need no new place in the queue.
   */
  admitted(
    wanted: readonly (Wanted & { readonly id: string })[],
    { at, isResult }: { at: number; isResult: boolean },
  ): JobWrite[] {
    return wanted.map(({ id, child, kind, input }) => {
      const slots = this.of(kind);
      const text = JSON.stringify(input ?? null);
      if (Buffer.byteLength(text) > maxInput) {
        const message = `The input of ${kind} is larger than ${maxInput} bytes as JSON.`;
        throw new Fault('jobs.input_too_large', { status: 413, message });
      }
      if (!isResult && slots.unfinished >= slots.kind.queue) {
        const message = `${slots.unfinished} jobs of ${kind} are unfinished, the most allowed. Nothing was written. Try again.`;
        throw new Fault('jobs.full', { status: 503, message, retryAfter: 1 });
      }
      const due = Math.max(at, Math.ceil(slots.kind.notBefore(input) ?? at));
      return { id, kind, child, input: text, due };
    });
  }
}
