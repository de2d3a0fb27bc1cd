import { Fault } from '../../../core/base/fault.ts';
import type { Wanted } from '../../../core/plugin/step.ts';
import type { JobWrite } from '../../../core/ports/jobs.ts';
import type { JobKind } from './kind.ts';

/** Bytes of the input of a job as JSON. */
export const maxInput = 262_144;

/** The places of one kind of job in this process. */
export interface Bench {
  readonly kind: JobKind;
  /** Places that are taken: by a job that runs, or by a claim or a commit on its way. */
  taken: number;
  /** Unfinished jobs, as far as this process knows. */
  unfinished: number;
  /** There may be jobs that are ready and have no place. */
  isBehind: boolean;
}

/** All places, by kind; they decide which jobs a step may add, and which of them begin at once. */
export class Benches {
  readonly #benches: ReadonlyMap<string, Bench>;

  constructor(kinds: readonly JobKind[]) {
    this.#benches = new Map(
      kinds.map((kind) => [kind.kind, { kind, taken: 0, unfinished: 0, isBehind: true }]),
    );
  }

  get all(): readonly Bench[] {
    return [...this.#benches.values()];
  }

  find(kind: string): Bench | undefined {
    return this.#benches.get(kind);
  }

  of(kind: string): Bench {
    const bench = this.#benches.get(kind);
    if (!bench) throw new Error(`no enabled plugin declares the effect ${kind}`);
    return bench;
  }

  /**
   * The jobs of a step as they are to be added. Those that can begin at once have taken a place and carry a lease.
   * Throws `jobs.input_too_large` and `jobs.full`, and has then taken none.
   */
  admitted(wanted: readonly (Wanted & { readonly id: string })[], options: Admission): JobWrite[] {
    const { at, isResult, owner, isOpen } = options;
    const checked = wanted.map(({ id, child, kind, input }) => {
      const bench = this.of(kind);
      const text = JSON.stringify(input ?? null);
      if (Buffer.byteLength(text) > maxInput) {
        const message = `The input of ${kind} is larger than ${maxInput} bytes as JSON.`;
        throw new Fault('jobs.input_too_large', { status: 413, message });
      }
      if (!isResult && bench.unfinished >= bench.kind.queue) {
        const message = `${bench.unfinished} jobs of ${kind} are waiting or at work already; nothing was written.`;
        throw new Fault('jobs.full', { status: 503, message, retryAfter: 1 });
      }
      const due = Math.max(at, Math.ceil(bench.kind.notBefore(input) ?? at));
      return { bench, write: { id, kind, child, input: text, due } };
    });
    return checked.map(({ bench, write }) => {
      const isFree = isOpen && !bench.isBehind && bench.taken < bench.kind.concurrency;
      if (write.due > at || !isFree) return write;
      bench.taken += 1;
      return { ...write, lease: { owner, until: at + bench.kind.lease } };
    });
  }
}

interface Admission {
  readonly at: number;
  /** They follow from a job that ends, so they need no new place in the queue. */
  readonly isResult: boolean;
  readonly owner: string;
  /** Whether work is begun at all. */
  readonly isOpen: boolean;
}
